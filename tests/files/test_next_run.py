"""What is hidden is hidden from the next cell with the same rules."""
import os

import cell


class NextRun(cell.FilesCase):
    MOVE = ("import os,sys\n"
            "for one in sys.argv[1:]:\n"
            " try: os.rename(one,one+'.moved'); print(one)\n"
            " except OSError: pass\n")

    def moved(self, *places, **rules):
        return self.run_cell([cell.PYTHON, "-c", self.MOVE, *places], **rules).out.split()

    def test_T07_way_to_what_is_hidden_does_not_move(self):
        self.write("project", "a", "b", "secret", text="hidden\n")
        self.write("project", "c", "d", "secret", text="hidden\n")
        self.write("elsewhere", "secret", text="hidden\n")
        os.symlink("../elsewhere", self.path("project", "link"))
        rules = {"deny_read": [self.project + "/a/b", self.project + "/c/d/secret", self.project + "/link"]}
        self.assertEqual(self.moved("a/b", "a", "c/d/secret", "c/d", "c", "link", **rules), [])
        ended = self.shell("cat a*/b*/* c*/d*/* link*/*", **rules)
        self.assertNotIn("hidden", ended.out)

    def test_what_nothing_hides_moves(self):
        self.write("project", "a", "b", "secret")
        self.write("project", "other", "file")
        os.symlink("a", self.path("project", "link"))
        rules = {"deny_read": [self.project + "/a/b"]}
        self.assertEqual(self.moved("other/file", "other", "link", **rules), ["other/file", "other", "link"])
        self.assertEqual(self.moved("a/b", "a"), ["a/b", "a"])

    def test_T09_link_that_a_cell_made_grants_nothing(self):
        secret = self.write("elsewhere", "secret", text="hidden\n")
        os.makedirs(self.path("project", "in"))
        os.symlink("../../elsewhere", self.path("project", "in", "link"))
        os.symlink("in/link", self.path("project", "way"))
        hidden = {"deny_read": [self.path("elsewhere")]}
        for name in ("in/link", "way", "in/link/**", "in/link/secret"):
            named = [self.project + "/" + name]
            with self.subTest(name=name):
                self.shell("cat way/secret in/link/secret; echo x > way/secret; echo x > way/new",
                           allow_write=[self.project, *named])
                ended = self.shell("cat way/secret in/link/secret", allow_read=named, **hidden)
                self.assertNotIn("hidden", ended.out)
        with open(secret, encoding="utf-8") as file:
            self.assertEqual(file.read(), "hidden\n")
        self.assertEqual(os.listdir(self.path("elsewhere")), ["secret"])
        # Where no cell can turn it, it is the caller's word.
        os.symlink("elsewhere", self.path("link"))
        self.shell("echo x > ../link/new", allow_write=[self.project, self.path("link")])
        self.assertEqual(sorted(os.listdir(self.path("elsewhere"))), ["new", "secret"])

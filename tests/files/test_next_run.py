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

"""Options by descriptor, for values that a command line would show to everybody."""
import os

from harness import CliTest


class ArgsFd(CliTest):
    def memory(self, data):
        fd = os.memfd_create("words")
        self.addCleanup(os.close, fd)
        os.write(fd, data)
        return fd

    def words(self, *words):
        return self.memory(b"".join(word.encode() + b"\0" for word in words))

    def with_words(self, fd, *command):
        return self.exec("--args-fd", str(fd), *command, pass_fds=(fd,))

    def test_they_are_read_where_the_option_stands(self):
        fd = self.words("--env", "A=from the descriptor", "--env=B=two words")
        ended = self.exec("--env", "A=before", "--args-fd", str(fd), "--env", "B=behind", "--",
                          "sh", "-c", 'echo "$A, $B"', pass_fds=(fd,))
        self.assertEqual((ended.code, ended.out), (0, "from the descriptor, behind\n"), ended)

    def test_a_policy_file_may_be_among_them(self):
        path = self.file("policy.json", '{"environment": {"set": {"A": "of the file", "B": "of the file"}}}')
        fd = self.words("--policy", path, "--env", "B=of the words")
        ended = self.with_words(fd, "sh", "-c", 'echo "$A, $B"')
        self.assertEqual((ended.code, ended.out), (0, "of the file, of the words\n"), ended)

    def test_none_is_fine(self):
        self.assertEqual(self.with_words(self.words(), "true").code, 0)

    def test_the_program_does_not_have_it(self):
        ended = self.with_words(self.words("--env", "A=1"), "sh", "-c", "ls /proc/self/fd")
        self.assertEqual(ended.out.split()[:3], ["0", "1", "2"], ended)
        self.assertLessEqual(len(ended.out.split()), 4, ended)  # and the folder that is listed

    def test_what_is_no_list_of_options_is_refused(self):
        for fd in (self.words("--env", "A=1", "sh"), self.words("--", "sh"), self.words("--"),
                   self.words("--env"), self.words("--no-such"), self.words("--args-fd", "3"),
                   self.memory(b"--env\0A=1"), self.memory(b"\0" * (5 << 20))):
            ended = self.with_words(fd, "true")
            self.assertEqual(ended.code, 125, ended)
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        self.addCleanup(os.close, write)
        self.assertEqual(self.with_words(read, "true").code, 125)
        self.assertEqual(self.exec("--args-fd", "99", "true").code, 125)

"""The guest's kernel, first steps and files, in a folder that is kept: made once, from Debian's packages."""
import gzip
import os
import shutil
import subprocess
import zlib

# What the suites run inside, beside Python's own library.
PACKAGES = ("systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,udev,kmod,procps,iproute2,nftables,python3,git,"
            "curl,openssl,tmux,strace,gcc,libc6-dev,util-linux,gnupg,zsh,make,python3-pytest,openssh-client,openssh-server,nodejs")
# To find the disk; all others are looked for by the guest itself.
FIRST_MODULES = ("virtio_pci", "virtio_blk", "ext4")
# Kernel modules by folder: what a cell or a test may ask for.
MODULES = ("net", "fs", "crypto", "lib", "drivers/net/veth.ko", "drivers/net/tun.ko")

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /dev /new
/bin/busybox mount -t devtmpfs none /dev
for module in /modules/*; do /bin/busybox insmod "$module"; done
/bin/busybox mount -t ext4 /dev/vda /new || exec /bin/busybox poweroff -f
exec /bin/busybox switch_root /new /sbin/init
"""

SERVICE = """[Unit]
Description=the suites of caisson
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/caisson/tests/guest/inside
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
"""


def run(*words, **how):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)
    if done.returncode:
        raise SystemExit(f"guest: {' '.join(words[:3])} …: exit {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    os.chmod(path, mode)


class Image:
    def __init__(self, folder):
        self.folder = folder
        made_of = zlib.crc32(repr((PACKAGES, MODULES, SERVICE)).encode())
        self.root, self.kernel = os.path.join(folder, f"root-{made_of:08x}"), os.path.join(folder, "kernel")
        self.initrd = os.path.join(folder, "initrd")

    def make(self):
        """Whatever of it is missing. What is half done has another name."""
        os.makedirs(self.folder, exist_ok=True)
        for name in os.listdir(self.folder):
            if name.startswith("root") and name != os.path.basename(self.root):
                shutil.rmtree(os.path.join(self.folder, name))
        for path, step in ((self.kernel, self.make_kernel), (self.initrd, self.make_initrd),
                           (self.root, self.make_root)):
            if os.path.exists(path):
                continue
            part = path + ".part"
            shutil.rmtree(part, ignore_errors=True)
            print(f"guest: making {os.path.basename(path)}", flush=True)
            step(part)
            os.rename(part, path)

    def vmlinuz(self):
        return self.of_kernel("boot/vmlinuz-")

    def of_kernel(self, beginning):
        folder, start = os.path.split(os.path.join(self.kernel, beginning))
        return next(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(start))

    def version(self):
        return os.listdir(os.path.join(self.kernel, "lib/modules"))[0]

    def make_kernel(self, part):
        """Debian's own for this release: the one that most of its users run."""
        depends = run("apt-cache", "depends", "linux-image-amd64")
        package = next(line.split()[1] for line in depends.splitlines() if "Depends: linux-image-" in line)
        for old in os.listdir(self.folder):
            if old.endswith(".deb"):
                os.remove(os.path.join(self.folder, old))
        run("apt-get", "download", package, cwd=self.folder)
        deb = next(name for name in os.listdir(self.folder) if name.endswith(".deb"))
        run("dpkg-deb", "-x", os.path.join(self.folder, deb), part)
        os.remove(os.path.join(self.folder, deb))
        run("depmod", "-b", part, os.listdir(os.path.join(part, "lib/modules"))[0])

    def make_initrd(self, part):
        tree = os.path.join(self.folder, "first")
        shutil.rmtree(tree, ignore_errors=True)
        os.makedirs(os.path.join(tree, "bin"))
        os.makedirs(os.path.join(tree, "modules"))
        shutil.copy("/bin/busybox", os.path.join(tree, "bin/busybox"))
        paths = []
        for name in FIRST_MODULES:
            told = run("modprobe", "-d", self.kernel, "-S", self.version(), "--show-depends", name)
            paths += [line.split()[1] for line in told.splitlines() if line.startswith("insmod ")]
        for number, path in enumerate(dict.fromkeys(paths)):
            shutil.copy(path, os.path.join(tree, "modules", f"{number:02}-{os.path.basename(path)}"))
        write(os.path.join(tree, "init"), INIT, 0o755)
        names = run("find", ".", cwd=tree)
        archive = subprocess.run(("cpio", "--quiet", "-o", "-H", "newc"), cwd=tree, input=names.encode(),
                                 stdout=subprocess.PIPE, check=True).stdout
        with open(part, "wb") as out:
            out.write(gzip.compress(archive, 1))
        shutil.rmtree(tree)

    def make_root(self, part):
        run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", part)
        modules = os.path.join("lib/modules", self.version())
        os.makedirs(os.path.join(part, modules), exist_ok=True)
        for name in os.listdir(os.path.join(self.kernel, modules)):
            if name.startswith("modules."):
                shutil.copy(os.path.join(self.kernel, modules, name), os.path.join(part, modules))
        for name in MODULES:
            there = os.path.join(self.kernel, modules, "kernel", name)
            to = os.path.join(part, modules, "kernel", name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            (shutil.copytree if os.path.isdir(there) else shutil.copy)(there, to)
        write(os.path.join(part, "etc/hostname"), "guest\n")
        write(os.path.join(part, "etc/hosts"), "127.0.0.1 localhost guest\n")
        write(os.path.join(part, "etc/systemd/system/suites.service"), SERVICE)
        wants = os.path.join(part, "etc/systemd/system/multi-user.target.wants")
        os.makedirs(wants, exist_ok=True)
        os.symlink("../suites.service", os.path.join(wants, "suites.service"))
        os.symlink("/dev/null", os.path.join(part, "etc/systemd/system/serial-getty@ttyS0.service"))
        run("chroot", part, "useradd", "--create-home", "--uid", "1000", "tester")

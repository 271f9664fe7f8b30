"""One Python process that runs the blocks of a page, one after the other, in one namespace."""
import json, os, select, subprocess

# Reads a block as JSON a line, and says on a pipe of its own how it ended; what the block prints is its output.
_DRIVER = """
import json, os, sys, traceback
reports, names = os.fdopen(int(sys.argv[1]), "w"), {"__name__": "__main__"}
for line in sys.stdin:
    try:
        exec(compile(json.loads(line), "<block>", "exec"), names)
        ended = ""
    except BaseException:
        ended = traceback.format_exc()
    sys.stdout.flush()
    print(json.dumps(ended), file=reports, flush=True)
"""


class Ended(Exception):
    pass


class Session:
    def __init__(self, python, folder, environment):
        self.output = open(folder / ".python_output", "w+")
        read, write = os.pipe()
        self.process = subprocess.Popen([python, "-W", "ignore", "-c", _DRIVER, str(write)], cwd=folder, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=self.output, stderr=subprocess.STDOUT, pass_fds=[write])
        os.close(write)
        self.reports = os.fdopen(read)

    def run(self, code, limit):
        """What it printed; throws if it raises or takes too long."""
        begin = self.output.seek(0, 2)
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        if not select.select([self.reports], [], [], limit)[0]:
            raise Ended(f"takes longer than {limit} s")
        ended = self.reports.readline()
        self.output.seek(begin)
        said = self.output.read()
        if not ended:
            raise Ended(f"ends the process:\n{said}")
        if json.loads(ended):
            raise Ended(f"raises:\n{said}{json.loads(ended)}")
        return said

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.reports.close()
        self.output.close()

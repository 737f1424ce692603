"""What the checks of `make check` have in common (tests/check_*.py): their arguments, and how they end."""
import os
import sys

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)


def report(name, good, bad):
    """Prints the lines `bad`, and how many cases passed and failed. True: some failed."""
    for line in bad:
        print(line)
    print("%s: %d passed, %d failed" % (name, good, len(bad)))
    return bool(bad)


def run(name, doc, check, self_test, default=TREE):
    """Ends the program. check(path of the argument, or default) returns (cases that passed, lines about the others);
    self_test() returns (cases, lines about those that failed)."""
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        cases, failures = self_test()
        sys.exit(int(report(name + " self-test", cases - len(failures), failures)))
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(doc, file=sys.stderr)
        sys.exit(2)
    sys.exit(int(report(name, *check(arguments[0] if arguments else default))))

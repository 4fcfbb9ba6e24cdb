"""The commands of a page of documentation: lines of code blocks, whole scripts, and inline code. Only reads, runs nothing.

A line of an indented or fenced block is a command when it begins with one of PROGRAMS; in a fence marked sh every line
is one. A fence that begins with #! is one script. Inline code is a command when it is complete: a verb alone, or one
without what it needs to run (NEEDS), only mentions plait. `...` stands for flags of the last complete line before it
that has the same verb: all that the line does not set itself, without those of one machine (MACHINE).
"""
import re
from dataclasses import dataclass

PROGRAMS = {"plait", "mpirun", "srun", "sbatch", "source", "cmake", "./run", "tensorboard", "man"}
OTHER_LANGUAGES = {"cpp", "cmake", "toml", "python", "json", "text"}
MACHINE = {"--workers", "--nodes", "--workers-per-node", "--pieces", "--replicas"}
# What inline code needs beside the verb to be a command: one of these words, or an argument ("WORD").
NEEDS = {"train": {"--model", "--resume", "--config", "..."}, "plan": {"--model", "--profile"}, "profile": {"--model"},
         "partition": {"--model"}, "infer": {"--model"}, "eval": {"--run", "--init"}, "export": {"--run", "--init"},
         "prune": {"--run", "--init"}, "report": {"WORD"}, "import": {"WORD"}, "models": {"WORD"}, "data": {"WORD"},
         "VERB": {"--help"}}


@dataclass
class Command:
    page: str
    line: int
    text: str
    script: bool = False


def words_behind(text, program):
    """The words behind `program` where it is called, up to the end of that call; None: it is not."""
    found = re.search(rf"(?:^|[\s;|(]){re.escape(program)}((?:\s+[^\s;|)]+)*)", text)
    return found[1].split() if found else None


def is_complete(text):
    words = words_behind(text, "plait")
    if words is None or (words and words[0].startswith("--")):
        return len(text.split()) > 1
    if not words or words[0] not in NEEDS:
        return False
    needs = NEEDS[words[0]]
    return any(word in needs or ("WORD" in needs and not word.startswith("-")) for word in words[1:])


def flags(words):
    """Flags in their order, each with the words that follow it up to the next one."""
    found = []
    for word in words:
        if word.startswith("--"):
            found.append([word])
        elif found:
            found[-1].append(word)
    return found


def fill_dots(command, base):
    own = {flag[0] for flag in flags(words_behind(command, "plait"))}
    taken = [" ".join(flag) for flag in flags(words_behind(base, "plait")) if flag[0] not in own | MACHINE]
    return command.replace("...", " ".join(taken))


def without_comment(line):
    return re.sub(r"(^|\s+)#(\s.*)?$", "", line).strip()


def blocks_of(lines):
    """(language, first line number, lines) of each block, indented ones with language "", and the text between."""
    blocks, text, at = [], list(lines), 0
    while at < len(lines):
        fence = re.match(r"\s*```(\w*)\s*$", lines[at])
        begin = at
        if fence:
            at = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "```")
            blocks.append((fence[1], begin + 2, lines[begin + 1:at]))
            at += 1
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            blocks.append(("", begin + 1, [line[4:] for line in lines[begin:at]]))
        else:
            at += 1
            continue
        text[begin:at] = [""] * (at - begin)
    return blocks, text


def commands_of_block(page, language, number, lines):
    if language in OTHER_LANGUAGES or not lines:
        return []
    if lines[0].startswith("#!"):
        return [Command(page, number, "\n".join(lines) + "\n", script=True)]
    found, at = [], 0
    while at < len(lines):
        begin, line = at, without_comment(lines[at])
        while line.endswith("\\") and at + 1 < len(lines):
            at += 1
            line = line[:-1].rstrip() + " " + without_comment(lines[at])
        at += 1
        if line and (language == "sh" or line.split()[0] in PROGRAMS):
            found.append(Command(page, number + begin, re.sub(r"\s+", " ", line)))
    return found


def inline_commands(page, text):
    for found in re.finditer(r"(?<!`)`([^`]+)`(?!`)", text):
        code = re.sub(r"\s+", " ", found[1]).strip()
        if code and "\n\n" not in found[1] and code.split()[0] in PROGRAMS and is_complete(code):
            yield Command(page, text.count("\n", 0, found.start()) + 1, code)


def commands_of(page, content):
    """In the order of the page, `...` filled in."""
    blocks, text = blocks_of(content.splitlines())
    found = [command for block in blocks for command in commands_of_block(page, *block)]
    found += inline_commands(page, "\n".join(text))
    found.sort(key=lambda command: command.line)
    base = {}
    for command in found:
        words = words_behind(command.text, "plait")
        if not words or command.script:
            continue
        if "..." in words:
            if words[0] not in base:
                raise ValueError(f"{page}:{command.line}: no line before says what ... is: {command.text}")
            command.text = fill_dots(command.text, base[words[0]])
        elif "--model" in words:
            base[words[0]] = command.text
    return found

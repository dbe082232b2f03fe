"""When a turn is learned from, what is written, what is changed, and what never is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from skills_ref import validate

from memory.transcript import Message, ToolCall, Turn, new_turn_id
from skills_learning.draft import Work, draft
from skills_learning.general import General, leaks
from skills_learning.patch import Patch, PatchRefused, patched
from skills_learning.records import SKILL_FILE
from skills_learning.signals import only_asks, signals
from skills_learning.tasks import name_of, task_of
from skills_learning.trace import Around, programs_of, steps_of
from tests.skills_learning.hostile import BASE, NOW, holds_after, learner, library, proposals

Call = tuple[str, str] | tuple[str, str, bool]


def turn(
    said: str, *calls: Call, reply: str = "Done.", minutes: int = 0, status: Any = "done"
) -> Turn:
    """Return a turn of commands: (command, output) or (command, output, False) for one that failed."""
    when = NOW + timedelta(minutes=minutes)
    messages = [Message(role="user", text=said, created=when)]
    for number, call in enumerate(calls):
        tool = ToolCall(
            id=f"c{number}", name="run_command", arguments=json.dumps({"command": call[0]})
        )
        messages.append(Message(role="assistant", text="", created=when, tool_calls=(tool,)))
        failed = len(call) == 3 and not call[2]
        result = Message(
            role="tool",
            text=call[1],
            created=when,
            call_id=tool.id,
            tool_name=tool.name,
            error=failed,
        )
        messages.append(result)
    messages.append(Message(role="assistant", text=reply, created=when))
    return Turn(
        id=new_turn_id(when), session="s", started=when, messages=tuple(messages), status=status
    )


def kinds(*args: Any) -> list[str]:
    return [signal.kind for signal in signals(*args)]


SITE: Sequence[Call] = (
    ("npm ci", "added 80 packages"),
    ("npm run build", "built"),
    ("npm run lint", "0 errors"),
    ("npm test", "12 passed"),
    ("rsync -a dist/ web@www.example.com:/srv/site/", "sent 400 bytes"),
)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (turn("How are you?", reply="Fine."), []),
        (turn("What is in the folder?", ("ls", "a"), ("cat a", "x"), ("ls b", "c"), ("wc a", "1"), ("ls", "a")), []),
        (turn("Which pods run?", *[("kubectl get pods", "a")] * 6), []),
        (turn("Build the site", *SITE), ["long"]),
        (turn("Build the site", *SITE, reply="I could not deploy it."), []),
        (turn("Build the site", *SITE, status="failed"), []),
        (turn("Build the site", *SITE[:2]), []),
        (turn("Build it and learn this, please.", *SITE[:2]), ["asked"]),
        (turn("编译网站，记住这个做法。", *SITE[:2]), ["asked"]),
        (turn("Can you learn this?", *SITE[:2]), []),
        (turn("Pack it", ("tar cf a.tar x", "no such option", False), ("tar -czf a.tgz x", "")), ["another way"]),
        (turn("Pack it", ("curl -O https://e.example.com/x", "503 Service Unavailable", False), ("curl -o y https://e.example.com/x", "")), []),
        (turn("Pack it", ("make x", "The user did not allow this command.", False), ("make y", "")), []),
    ],
)  # fmt: skip
def test_signals(made: Turn, expected: list[str]) -> None:
    assert kinds(made) == expected


@pytest.mark.parametrize(
    ("said", "corrects"),
    [
        ("No, first run the tests.", True),
        ("Wait, you should run the tests before that.", True),
        ("不对，应该先跑测试。", True),
        ("Next time use pnpm instead of npm.", True),
        ("No, my name is Ilse.", False),
        ("No, the API was down.", False),
        ("No thanks.", False),
        ("Great, thank you!", False),
        ("No, why did you run that first?", False),
    ],
)
def test_a_correction_of_the_way(said: str, corrects: bool) -> None:
    before = turn("Build the site", *SITE)
    after = turn(said, ("npm test", "ok"), ("npm run build", "ok"), minutes=5)
    assert ("correction" in kinds(after, (), (before,))) is corrects


def test_the_third_time_counts_across_sessions() -> None:
    first = turn("Convert a.mov to mp4", ("ffmpeg -i a.mov a.mp4", ""))
    second = turn("please convert b.mov into mp4", ("ffmpeg -i b.mov b.mp4", ""), minutes=5)
    third = turn("b2.mov: convert to mp4", ("ffmpeg -i b2.mov b2.mp4", ""), minutes=9)
    other = turn("Make the release", ("git tag v1", ""), minutes=3)
    assert kinds(second, (first,)) == []
    assert kinds(third, (first, other)) == []
    assert kinds(third, (first, other, second)) == ["repeated"]


def learn(folder: Path, *turns: Turn, **options: Any) -> list[str]:
    found = library(folder)
    learned = replace(learner(found, None), **options)
    return [
        learned.learn(one, Around(before=turns[:n], earlier=turns[:n]))
        for n, one in enumerate(turns)
    ]


def text_of(folder: Path, name: str) -> str:
    return (folder / "skills" / name / SKILL_FILE).read_text()


def test_a_skill_is_general_whole_and_valid(tmp_path: Path) -> None:
    said = (
        "Hi! My wife Jana is allergic to nuts. Please deploy report_2026-11-02.pdf for ticket OPS-4711 to"
        " jana.k@example.com from /home/mara/reports."
    )
    calls = (
        ("cp /home/mara/reports/report_2026-11-02.pdf out/", ""),
        ("gpg -e -r jana.k@example.com out/report_2026-11-02.pdf", "gpg: no such key", False),
        ("gpg --trust-model always -e -r jana.k@example.com out/report_2026-11-02.pdf", ""),
        ("mail-file --ticket OPS-4711 out/report_2026-11-02.pdf.gpg", "sent"),
        ("sha256sum out/report_2026-11-02.pdf.gpg", "0a1b2c3d4e5f67 ok"),
    )
    assert learn(tmp_path, turn(said, *calls))[0].startswith("learned: ")
    (folder,) = (tmp_path / "skills").glob("[a-z]*")
    text = text_of(tmp_path, folder.name)
    assert validate(folder) == []
    for private in ("Jana", "jana", "nuts", "OPS", "4711", "2026-11", "mara", "/home"):
        assert private not in text.split("metadata:")[0] + text.split("---\n")[2], private
    assert "`gpg -e -r <email> out/<file>` failed: “gpg: no such key”" in text
    assert "4. Run `sha256sum out/<file>.gpg`." in text
    assert leaks(text.split("---\n")[2]) == []


def test_nothing_is_learned_twice_from_a_turn(tmp_path: Path) -> None:
    one = turn("Build the site for me", *SITE)
    found = library(tmp_path)
    assert learner(found, None).learn(one, Around()).startswith("learned: ")
    assert learner(found, None).learn(one, Around()) == "learned from already"
    assert len(found.journal.all()) == 1


def test_a_correction_changes_the_skill_and_its_steps(tmp_path: Path) -> None:
    build = (
        ("npm ci", ""),
        ("npm run build", ""),
        ("npm publish", ""),
        ("git tag v1", ""),
        ("git push", ""),
    )
    first = turn("Release the package", *build)
    second = turn(
        "No, first run the tests. Do it for 2.0.", ("npm test", "12 passed"), *build, minutes=5
    )
    told = learn(tmp_path, first, second)
    assert told[0].startswith("learned: release-package")
    assert told[1].startswith("updated: release-package, version 2: you said: first run the tests")
    text = text_of(tmp_path, "release-package")
    assert "1. Run `npm test`.\n2. Run `npm ci`." in text
    assert "- The user wants it so: first run the tests." in text
    assert "2.0" not in text.split("---\n")[2]


def test_the_same_work_in_other_words_is_no_second_skill(tmp_path: Path) -> None:
    def convert(said: str, name: str, minutes: int) -> Turn:
        commands = (
            (f"ffmpeg -i {name}.mov -c:v libx264 -crf 23 -c:a aac {name}.mp4", "muxing"),
            (f"ffprobe -v error -show_entries format=duration {name}.mp4", "duration=3"),
        )
        return turn(said + ", learn this", *commands, minutes=minutes)

    said = (
        "Convert the video a.mov",
        "video conversion of b.mov",
        "make an mp4 of c.mov",
        "mp4 convert d.mov",
    )
    learn(tmp_path, *(convert(text, "abcd"[n], n * 9) for n, text in enumerate(said)))
    assert [e.name for e in library(tmp_path).shelf.entries()] == ["convert-video"]


def test_a_skill_of_the_user_is_changed_by_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "build-site"
    folder.mkdir(parents=True)
    (folder / SKILL_FILE).write_text(BASE)
    broken = turn(
        "Build the site", ("npm ci", "lock file differs", False), ("npm install", ""), *SITE[1:]
    )
    (told,) = learn(tmp_path, broken)
    assert told.startswith("a skill waits for you: build-site: it is yours")
    assert text_of(tmp_path, "build-site") == BASE
    (draft_,) = library(tmp_path).pending()
    assert "`npm ci` failed" in (draft_.folder / SKILL_FILE).read_text()


def test_where_approval_is_asked_each_skill_waits(tmp_path: Path) -> None:
    (told,) = learn(tmp_path, turn("Build the site now", *SITE), ask=True)
    assert "waits for you" in told
    found = library(tmp_path)
    assert found.shelf.entries() == []
    found.approve(found.pending()[0].name)
    assert [e.origin for e in found.shelf.entries()] == ["learned"]


def test_an_outage_leaves_no_rule_behind(tmp_path: Path) -> None:
    calls = (("curl -fsS -o f https://api.example.com/x", "503 Service Unavailable", False), *SITE)
    learn(tmp_path, turn("Build the site with the data", *calls))
    (folder,) = (tmp_path / "skills").glob("[a-z]*")
    assert "503" not in text_of(tmp_path, folder.name)


def test_a_secret_in_the_work_is_never_written(tmp_path: Path) -> None:
    from memory.redact import redact

    calls = (*SITE, ("deploy --token sk-live-0123456789abcdefghij", "ok"))
    found = library(tmp_path)
    learned = replace(learner(found, None), redact=redact)
    learned.learn(turn("Build the site", *calls), Around())
    assert not any(b"sk-live" in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


@pytest.mark.parametrize(("kind", "answer", "covered"), proposals())
def test_a_hostile_proposal_leaves_nothing_behind(
    tmp_path: Path, kind: str, answer: str, covered: bool
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert holds_after(home, answer, covered) == []


def test_there_are_sixty_of_them() -> None:
    assert len(proposals()) == 60


def test_a_good_proposal_of_a_model_is_taken(tmp_path: Path) -> None:
    from tests.skills_learning.hostile import new
    from tests.skills_learning.hostile import turn as work

    found = library(tmp_path)
    assert (
        learner(found, lambda prompt: new())
        .learn(work(), Around())
        .startswith("learned: build-site")
    )
    assert "`npm install` changes the lock file." in text_of(tmp_path, "build-site")


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (Patch(old="1. Run `npm ci`.", new=""), None),
        (Patch(old="npm", new="x"), "stands"),
        (Patch(old="not there", new="x"), "does not stand"),
        (Patch(old=BASE[200:], new="x"), "takes away"),
        (Patch(old=" ", new="x"), "names no text"),
    ],
)
def test_changes_are_exact_spans(patch: Patch, why: str | None) -> None:
    if why is None:
        assert patch.old not in patched(BASE, [patch])
    else:
        with pytest.raises(PatchRefused, match=why):
            patched(BASE, [patch])


def test_a_part_that_was_not_read_is_not_touched() -> None:
    with pytest.raises(PatchRefused, match="not read"):
        patched(BASE, [Patch(old="1. Run `npm ci`.", new="x")], read=BASE[:40])


@pytest.mark.parametrize(
    ("said", "task"),
    [
        ("Please deploy the shop to staging, thanks!", "deploy the shop to staging"),
        ("Hi! I am tired. Could you back up the database?", "back up the database"),
        ("The build is broken. Fix it and push it.", "Fix it and push it: The build is broken"),
        ("Convert the film so that my mother can watch it.", "Convert the film"),
        ("麻烦你把报告翻译成英文，谢谢！", "把报告翻译成英文"),
    ],
)
def test_the_task_is_found_in_what_was_said(said: str, task: str) -> None:
    assert task_of(said) == task


def test_names_are_plain_ascii_and_free() -> None:
    steps = steps_of([turn("x", ("ffmpeg -i a b", ""))])
    assert name_of("把报告翻译成英文", steps, ()) == "baogao-fanyicheng-yingwen"
    assert (
        name_of("Deploy the shop to staging", steps, ["deploy-shop-staging"])
        == "deploy-shop-staging-2"
    )
    assert name_of("<file>", steps, ()) == "ffmpeg"


def test_programs_are_read_behind_options_and_variables() -> None:
    command = "cd x && FOO=1 sudo git -C /r push | tee out.txt; python -m build"
    assert programs_of(command) == ["git push", "tee", "build"]


def test_what_varied_between_times_becomes_a_parameter() -> None:
    times = tuple(
        (f"Publish the draft {n}", tuple(steps_of([turn("x", (f"hugo new posts/{n}.md", ""))])))
        for n in ("rye", "oat")
    )
    now = steps_of([turn("Publish", ("hugo new posts/spelt.md", ""), ("hugo --minify", ""))])
    work = Work(said="Publish the draft", steps=tuple(now), signals=(), turns=("a",), earlier=times)
    written = draft(work, ())
    assert (
        written is not None
        and "`hugo new <file>`" in written.body
        and "`hugo --minify`" in written.body
    )


def test_hosts_that_stay_are_kept() -> None:
    general = General()
    assert (
        general.text("rsync -a x web@www.example.com:/srv/x")
        == "rsync -a x web@www.example.com:/srv/x"
    )
    assert general.text("mail jo@example.com on 2026-11-14") == "mail <email> on <date>"


def test_questions_are_told_from_tasks() -> None:
    assert only_asks("Which pods are in staging?") and only_asks("仓库里有多少文件？")
    assert not only_asks("Can you restart the pods?") and not only_asks("Restart the pods")

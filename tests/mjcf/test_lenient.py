"""XML as MuJoCo's reader takes it: what it forgives is forgiven with a warning, what it refuses is refused."""

import random
import re
import time
import warnings

import mujoco
import pytest

from kinema import mjcf
from kinema.compile import compile_model
from kinema.errors import KinemaError, SyntaxProblem
from kinema.mjcf import lenient
from kinema.mjcf.source import MAX_DEPTH, read_xml
from tests.conformance.compare import differences

BODY = '<body name="a"><geom name="g" size="1"/></body>'
WHOLE = f"<mujoco><worldbody>{BODY}</worldbody></mujoco>"


def inside(start: str = "", body: str = BODY, end: str = "</worldbody></mujoco>") -> str:
    return f"<mujoco>{start}<worldbody>{body}{end}"


def named(name: str) -> str:
    return inside(body=f'<body name="{name}"><geom size="1"/></body>')


FORGIVEN = {
    "no space between attributes": inside(body='<body name="a"><geom name="g"type="box"size="1 1 1"/></body>'),
    "text after the root, then a comment": WHOLE + "\nstray words\n<!-- end -->",
    "text after the root, then an element": WHOLE + " stray <b/>",
    "text before the root": "stray " + WHOLE,
    "an element after the root": WHOLE + "<mujoco/>",
    "the document twice": WHOLE + WHOLE,
    "an end tag after the root, then anything": WHOLE + '</mujoco> <b a="',
    "a bare ampersand": named("a&b"),
    "an entity that nobody declared": named("a&foo;b"),
    "a character reference without digits": named("a&#xZZ;"),
    "a character reference without semicolon": named("a&#65b"),
    "a capital X in a character reference": named("a&#X42;b"),
    "a reference to a control character": named("a&#1;b"),
    "a reference past Unicode": named("a&#x110000;b"),
    "a reference to zero": named("a&#0;b"),
    "less-than in a value": named("a<b"),
    "two dashes in a comment": inside("<!-- a -- b -->"),
    "a comment that ends in three dashes": inside("<!-- a --->"),
    "a comment in a comment": inside("<!-- <!-- -->"),
    "the declaration after a space": ' \n<?xml version="1.0"?>' + WHOLE,
    "two declarations": '<?xml version="1.0"?><?xml version="1.0"?>' + WHOLE,
    "a declaration without version": "<?xml?>" + WHOLE,
    "a document type inside": inside("<!DOCTYPE mujoco>"),
    "an unknown declaration inside": inside("<!foo>"),
    "a control character in a value": named("a\x01b"),
    "a control character in text": inside("\x01"),
    "a form feed as space": "<mujoco\x0c><worldbody><body\x0bname='a'><geom size='1'/></body></worldbody></mujoco>",
    "an ampersand in text": inside("a & b"),
    "an end of CDATA in text": inside("]]>"),
    "a space after the opening bracket": "<mujoco>< worldbody>" + BODY + "</worldbody></mujoco>",
    "attributes on an end tag": inside(end='</worldbody x="1"></mujoco>'),
    "an end tag that closes itself": inside(body='<body name="a"><geom size="1"/></site/></body>'),
    "a zero after the root": WHOLE + "\0 junk",
    "unquoted CDATA beside bad comments": (
        '<mujoco><!-- -- --><custom><text name="t"><![CDATA[x\r\n<y]]></text></custom></mujoco>'
    ),
}
PLAIN = {
    "as it should be": WHOLE,
    "a byte order mark": "\ufeff" + WHOLE,
    "a comment after the root": WHOLE + "<!-- x -->",
    "the five entities": named("a&amp;b&lt;&gt;&quot;&apos;"),
    "character references": named("a&#65;&#x42;&#945;&#0000065;"),
    "greater-than in a value": named("a>b"),
    "line breaks in a name": named("a\nb"),
    "line breaks of another kind, and a tab": named("a\r\nb\tc\rd"),
    "line breaks in a text": '<mujoco><custom><text name="t" data="some\nlines > of\ttext"/></custom></mujoco>',
    "line breaks between numbers": inside(body='<body name="a" pos="1\n2\t3"><geom size="1"/></body>'),
    "a declared encoding": '<?xml version="1.0" encoding="iso-8859-1"?>' + WHOLE,
    "an encoding nobody knows": '<?xml version="1.0" encoding="bogus"?>' + WHOLE,
    "a strange version": '<?xml version="9"?>' + WHOLE,
    "a document type": "<!DOCTYPE mujoco>" + WHOLE,
    "text in elements": "<mujoco>foo<worldbody>bar" + BODY + "</worldbody></mujoco>",
    "CDATA": inside("<![CDATA[ <b ]]>"),
    "namespaces on the root": WHOLE.replace("<mujoco", '<mujoco xmlns="a" xmlns:xsi="b" xsi:schemaLocation="c"'),
    "quotes in quotes": "<mujoco><worldbody><body name='a\"b'><geom size='1'/></body></worldbody></mujoco>",
    "other alphabets": named("αβ"),
    "a stray greater-than": inside(">"),
    "a comment before the data of a text": (
        '<mujoco><custom><text name="a"><!-- c --><![CDATA[x]]></text></custom></mujoco>'
    ),
}
REFUSED = {
    "text at the end": WHOLE + " stray",
    "an unclosed element after the root": WHOLE + "<mujoco>",
    "an unclosed tag after the root": WHOLE + '<mujoco a="',
    "another root first": "<a/>" + WHOLE,
    "an attribute twice": inside(body='<body name="a" name="b"><geom size="1"/></body>'),
    "an unclosed comment": WHOLE + "<!-- ",
    "a declaration after a comment": '<!-- c --><?xml version="1.0"?>' + WHOLE,
    "a declaration inside": inside('<?xml version="1.0"?>'),
    "a declaration at the end": WHOLE + '<?xml version="1.0"?>',
    "an unclosed instruction": "<?foo bar>" + WHOLE,
    "a zero in a value": named("a\0b"),
    "a prefix on a tag": inside(body='<x:body name="a"/>'),
    "a prefix on an attribute": inside(body='<body x:y="1" name="a"><geom size="1"/></body>'),
    "a word on the root": WHOLE.replace("<mujoco", '<mujoco foo="1"'),
    "no quotes": inside(body='<body name=a><geom size="1"/></body>'),
    "no value": inside(body='<body name><geom size="1"/></body>'),
    "a space in the closing bracket": inside(body='<body name="a"><geom size="1" / ></body>'),
    "a space in the end tag": inside(end="</worldbody></ mujoco>"),
    "another end tag": inside(body='<body name="a"><geom size="1"/></bod>'),
    "no end tag": inside(end="</worldbody>"),
    "capitals": WHOLE.replace("mujoco", "Mujoco"),
    "nothing but a comment": "<!-- x -->",
    "two brackets": inside("<"),
    "a tag that is a number": inside(body=BODY + "<1a/>"),
    "a comma between attributes": inside(body='<body name="a"><geom size="1", type="sphere"/></body>'),
    "a wide space between attributes": inside(body='<body\u00a0name="a"><geom size="1"/></body>'),
    "nothing but space": " \n<",
    "a text twice": '<mujoco><custom><text name="a"><![CDATA[x]]><![CDATA[y]]></text></custom></mujoco>',
}


def compiled(text: str):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return compile_model(text), [str(warning.message) for warning in caught]


@pytest.mark.parametrize("case", FORGIVEN)
def test_what_mujoco_forgives_is_forgiven_with_a_warning(case):
    text = FORGIVEN[case]
    ours, messages = compiled(text)
    assert differences(ours, mujoco.MjModel.from_xml_string(text)) == {}
    assert len(messages) == 1 and re.search(r"read as MuJoCo reads it: line \d+: .", messages[0])


@pytest.mark.parametrize("case", PLAIN)
def test_what_is_well_formed_is_read_alike_without_a_word(case):
    text = PLAIN[case]
    ours, messages = compiled(text)
    assert differences(ours, mujoco.MjModel.from_xml_string(text)) == {} and not messages


@pytest.mark.parametrize("case", REFUSED)
def test_what_mujoco_refuses_is_refused(case):
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(REFUSED[case])
    with pytest.raises(KinemaError):
        compile_model(REFUSED[case])


def test_the_warning_names_file_line_and_what(tmp_path):
    file = tmp_path / "robot.xml"
    file.write_text('<mujoco>\n<!-- -- -->\n<worldbody>\n<geom name="g"size="1"/></worldbody></mujoco>\n')
    with pytest.warns(UserWarning) as caught:
        tree = compile_model(file)
    message = str(caught[0].message)
    assert str(file) in message and "line 2: '--' in a comment" in message
    assert "line 4: no space before attribute 'size' of <geom>" in message
    assert tree.names("geom") == ["g"]
    with pytest.warns(UserWarning, match="line 4"):
        assert mjcf.from_path(str(file)).find("geom", "g").source_line == 4


def test_errors_in_forgiven_documents_keep_their_line():
    with pytest.warns(UserWarning), pytest.raises(KinemaError, match="line 3"):
        compile_model('<mujoco>\n<!-- -- --><worldbody>\n<geom name="g"sixe="1"/></worldbody></mujoco>')


def test_an_included_file_is_forgiven_too():
    part = b'<mujoco><body name="b"><geom name="g"size="1"/></body></mujoco>'
    with pytest.warns(UserWarning, match="part.xml.*no space"):
        model = compile_model(
            '<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>', assets={"part.xml": part}
        )
    assert model.names("body") == ["world", "b"]


def test_bytes_that_are_not_utf8(tmp_path):
    """A Latin-1 character in a comment, as old files have."""
    file = tmp_path / "old.xml"
    file.write_bytes(b"<mujoco><!-- caf\xe9 --><worldbody><geom name='g' size='1'/></worldbody></mujoco>")
    theirs = mujoco.MjModel.from_xml_path(str(file))
    with pytest.warns(UserWarning, match="read as MuJoCo reads it"):
        assert differences(compile_model(file), theirs) == {}


def test_an_encoding_nobody_knows_is_passed_over():
    text = '<?xml version="1.0" encoding="nonsense"?>' + WHOLE
    theirs = mujoco.MjModel.from_xml_string(text)
    with pytest.warns(UserWarning, match="read as MuJoCo reads it"):
        assert differences(compile_model(text.encode()), theirs) == {}


def test_entities_and_depth_stay_bounded():
    bomb = '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><mujoco model="&b;"/>'
    with pytest.raises(SyntaxProblem, match="entity declaration"):
        read_xml(bomb)
    with pytest.warns(UserWarning):  # found by the lenient reader first: nothing is expanded
        assert read_xml("stray " + bomb).attributes["model"] == "&b;"
    deep = "<!-- -- -->" + "<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1)
    with pytest.raises(SyntaxProblem, match="nested deeper"):
        read_xml(deep)
    with pytest.raises(SyntaxProblem, match="invalid character number"):
        read_xml('<mujoco model="&#xD800;"/>')  # half of a character, which MuJoCo would keep


@pytest.mark.parametrize("piece", ["&", '"', "<!--", "<", ">", "&#1", "--", "<a ", "a='", "</a"])
def test_reading_takes_linear_time(piece):
    """What no grammar takes is refused at once, however much of it there is."""
    began = time.monotonic()
    for text in (f"<mujoco model='x y{piece * 200_000}'/>", f"<mujoco>{piece * 200_000}</mujoco>"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read_xml(text)
            except SyntaxProblem:
                pass
    assert time.monotonic() - began < 20  # less than one second on a quiet machine


def test_random_damage_is_judged_as_mujoco_judges_it():
    """One character of a document deleted, doubled or replaced: accepted by both or by neither."""
    draw = random.Random(5)
    base = '<?xml version="1.0"?>\n<!-- c --><mujoco model="m"><worldbody><body name="a"/>t</worldbody></mujoco>\n'
    for _ in range(3000):
        at, what = draw.randrange(len(base)), draw.choice("<>/=\"'&;!-? \tax:1\x01")
        before, after = base[:at], base[at + 1 :]
        text = draw.choice((before + after, before + what + base[at:], before + what + after))
        try:
            lenient.read(text.encode(), lenient.Events(lambda *_: None, lambda: None, lambda *_: None))
            ours = True
        except lenient.Refused:
            ours = False
        assert ours == _theirs(text), text


def _theirs(text: str) -> bool:
    """Whether MuJoCo's XML parser, not what it makes of the elements, takes a text."""
    try:
        mujoco.MjSpec.from_string(text)
    except ValueError as error:
        return "XML parse error" not in str(error) and "root element not found" not in str(error)
    return True

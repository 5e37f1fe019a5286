"""An exam as a QTI 2.1 package, a zip file for learning platforms; no platform has been tried yet.

Each question is an item with a box for text: the answers are places, codes and numbers in words, and a person
scores them. The answer stands in a part of the item that only scorers see.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from html import escape

from .exam import Question

__all__ = ["package"]

_QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
_CONTENT = "http://www.imsglobal.org/xsd/imscp_v1p1"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def package(questions: Sequence[Question], title: str) -> bytes:
    """The zip file: a manifest, a test, and an item for each question, one point each."""
    names = [f"question-{number:02d}" for number in range(1, len(questions) + 1)]
    files = {f"{name}.xml": _item(name, question) for name, question in zip(names, questions, strict=True)}
    files["test.xml"] = _test(names, questions, title)
    files["imsmanifest.xml"] = _manifest(names)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)  # whose time is always the same
    return out.getvalue()


def _html(text: str) -> str:
    """Markdown of a question as XHTML: code between backticks."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))


def _item(name: str, question: Question) -> str:
    title = escape(question.kind.replace("_", " "))
    return f"""{_HEAD}\
<assessmentItem xmlns="{_QTI}" identifier="{name}" title="{title}" adaptive="false" timeDependent="false">
  <responseDeclaration identifier="RESPONSE" cardinality="single" baseType="string"/>
  <outcomeDeclaration identifier="SCORE" cardinality="single" baseType="float" normalMaximum="1"/>
  <itemBody>
    <rubricBlock view="scorer"><p>{_html(question.answer)}</p></rubricBlock>
    <p>{_html(question.text)}</p>
    <extendedTextInteraction responseIdentifier="RESPONSE" expectedLines="2"/>
  </itemBody>
</assessmentItem>
"""


def _test(names: Sequence[str], questions: Sequence[Question], title: str) -> str:
    """A section for each part of the course."""
    sections = []
    parts = list(dict.fromkeys(question.part for question in questions))
    for number, part in enumerate(parts, 1):
        items = "".join(
            f'\n      <assessmentItemRef identifier="{name}" href="{name}.xml"/>'
            for name, question in zip(names, questions, strict=True)
            if question.part == part
        )
        head = f'identifier="section-{number}" title="{escape(part)}" visible="true"'
        sections.append(f"    <assessmentSection {head}>{items}\n    </assessmentSection>")
    inside = "\n".join(sections)
    return f"""{_HEAD}\
<assessmentTest xmlns="{_QTI}" identifier="exam" title="{escape(title)}">
  <testPart identifier="part" navigationMode="nonlinear" submissionMode="simultaneous">
{inside}
  </testPart>
</assessmentTest>
"""


def _manifest(names: Sequence[str]) -> str:
    def resource(name: str, kind: str, inside: str = "") -> str:
        file = f'<file href="{name}.xml"/>'
        return f'    <resource identifier="{name}" type="{kind}" href="{name}.xml">{file}{inside}</resource>'

    needed = "".join(f'<dependency identifierref="{name}"/>' for name in names)
    resources = [resource("test", "imsqti_test_xmlv2p1", needed)]
    resources += [resource(name, "imsqti_item_xmlv2p1") for name in names]
    listed = "\n".join(resources)
    return f"""{_HEAD}\
<manifest xmlns="{_CONTENT}" identifier="manifest">
  <metadata><schema>QTIv2.1 Package</schema><schemaversion>1.0.0</schemaversion></metadata>
  <organizations/>
  <resources>
{listed}
  </resources>
</manifest>
"""

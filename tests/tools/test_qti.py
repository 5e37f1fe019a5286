"""An exam as a QTI package: every file of the manifest is there, and every question with its answer."""

from __future__ import annotations

import io
import zipfile
from xml.etree import ElementTree

from tools import qti
from tools.exam import PARTS, exam

QTI = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"


def test_a_package() -> None:
    questions = exam(3)
    content = qti.package(questions, "Exam 3")
    assert content == qti.package(exam(3), "Exam 3"), "the same seed gives the same file"
    archive = zipfile.ZipFile(io.BytesIO(content))
    roots = {name: ElementTree.fromstring(archive.read(name)) for name in archive.namelist()}
    files = {file.get("href") for file in roots["imsmanifest.xml"].iterfind(".//{*}file")}
    assert files | {"imsmanifest.xml"} == set(roots)
    identifiers = {
        resource.get("identifier") for resource in roots["imsmanifest.xml"].iterfind(".//{*}resource")
    }
    needed = {entry.get("identifierref") for entry in roots["imsmanifest.xml"].iterfind(".//{*}dependency")}
    assert needed | {"test"} == identifiers and len(needed) == len(questions) == 30

    test = roots["test.xml"]
    assert test.tag == f"{QTI}assessmentTest"
    sections = test.findall(f"{QTI}testPart/{QTI}assessmentSection")
    assert [section.get("title") for section in sections] == list(PARTS)
    references = [entry.get("href") for entry in test.iter(f"{QTI}assessmentItemRef")]
    assert len(references) == len(set(references)) == 30
    for href, question in zip(references, questions, strict=True):
        item = roots[str(href)]
        assert item.tag == f"{QTI}assessmentItem" and item.get("identifier") == str(href).removesuffix(".xml")
        scorer = item.find(f".//{QTI}rubricBlock")
        asked = item.find(f"{QTI}itemBody/{QTI}p")
        box = item.find(f"{QTI}itemBody/{QTI}extendedTextInteraction")
        assert scorer is not None and asked is not None and box is not None
        assert scorer.get("view") == "scorer"
        assert "".join(scorer.itertext()) == question.answer.replace("`", "")
        assert "".join(asked.itertext()) == question.text.replace("`", "")
        declaration = item.find(f"{QTI}responseDeclaration")
        assert declaration is not None
        assert declaration.get("identifier") == box.get("responseIdentifier")

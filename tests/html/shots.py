#!/usr/bin/env python3
"""The pictures in docs/images: the report of the demo's network, verified in ONNX Runtime and measured, in light and dark colours and on a phone.

    shots.py [--program build/release/quench] [--to docs/images] [--page FILE.html]
"""
import argparse, pathlib, tempfile

import browser, runs


def make_page(quench, folder):
    out = folder / "demo"
    runs.demo(quench, out)
    runs.verify_and_measure(quench, out)
    return out / "report.html"


def take(page, to):
    with browser.Browser(1200, 960) as tab:
        tab.open(page)
        tab.settle()
        tab.shot(to / "report_light.png")
    with browser.Browser(1200, 960, dark=True) as tab:
        tab.open(page)
        tab.run("document.getElementById('graph').scrollIntoView({ behavior: 'instant' })")
        tab.settle()
        tab.click("#view .node[data-name='block1.conv2'], #view .node:nth-child(6)")
        tab.hover(20, 20)
        tab.run("document.getElementById('graph').scrollIntoView({ behavior: 'instant' })")
        tab.settle()
        tab.shot(to / "report_dark.png")
    with browser.Browser(390, 844, phone=True) as tab:
        tab.open(page)
        tab.run("document.querySelector('#tensors .bar').scrollIntoView({ behavior: 'instant' })")
        tab.settle()
        tab.shot(to / "report_phone.png")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, default=runs.ROOT / "build/release/quench")
    parser.add_argument("--to", type=pathlib.Path, default=runs.ROOT / "docs/images")
    parser.add_argument("--page", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="quench-page-") as folder:
        take(arguments.page or make_page(arguments.program.resolve(), pathlib.Path(folder)), arguments.to)
    for file in sorted(arguments.to.glob("report_*.png")):
        print(f"{file}  {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The HTML report in a headless Chromium, of the demo's network and of one with 1,000 nodes: loads without a complaint and
without the network, shows the record's numbers, sorts, filters, explains on hover, touch and keys, changes its theme, fits a phone.
Prints sizes and times. Exit code 77 if there is no browser.

    report_page_test.py --program build/release/quench [--page FILE.html]    --page: measure only that page
"""
import argparse, json, pathlib, re, sys, tempfile

import browser, runs, sections
from sections import expect

SKIPPED = 77


def data_in(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1])


def timed(tab, script):
    """Milliseconds until the change is drawn: the script, layout, and a frame."""
    return tab.run(f"""new Promise(done => {{ const start = performance.now(); {script}; document.body.offsetHeight;
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))); }})""")


NAMES = "[...document.querySelectorAll('#layers tbody tr')].map(row => row.cells[0].textContent)"  # as far as it was scrolled


def all_names(tab):
    while True:
        count = len(tab.run(NAMES))
        tab.run("(() => { const box = document.querySelector('#layers .scroll'); box.scrollTop = box.scrollHeight; })()")
        tab.settle()
        names = tab.run(NAMES)
        if len(names) == count:
            return names


def check_table(tab, run):
    """Worst first; the other way round by a click; by name; filtered."""
    layers = run["record"]["profile"]["layers"]
    by_damage = [layer["name"] for layer in layers]
    expect(all_names(tab) == by_damage, "layers come by damage, worst first")
    shown = tab.run("[...document.querySelectorAll('#layers tbody tr')].map(row => row.cells[3].textContent)")
    expect(shown == [layer["worst"] or "–" for layer in layers], "each says what it loses most by")
    tab.click("#layers th:nth-child(3) button")
    expect(all_names(tab)[-1] == by_damage[0], "a click on SQNR turns the order round")
    tab.click("#layers th:nth-child(1) button")
    expect(sorted(all_names(tab)) == sorted(by_damage) and tab.run("document.querySelector('#layers th').ariaSort") == "ascending",
           "a click on the name sorts by it")
    word = by_damage[0][:6].lower()
    tab.click("#layers input[type=search]")
    tab.type(word)
    left = [layer["name"] for layer in layers if word in f"{layer['name']} {layer['op']}".lower()]
    expect(sorted(all_names(tab)) == sorted(left), f"only layers with '{word}' are left")
    expect(f"{len(left)}" in tab.run("document.querySelector('#layers .count').textContent"), "and counted")
    tab.run("(() => { const s = document.querySelector('#layers input'); s.value = ''; s.dispatchEvent(new Event('input')); })()")
    expect(len(all_names(tab)) == len(by_damage), "all layers are back")


def check_numbers(tab, run):
    text = tab.run("document.getElementById('summary').textContent")
    for kind in ("float", "quantized"):
        for metric in run["record"].get(kind, {}).get("metrics", []):
            for key in ("value", "low", "high"):
                expect(f"{100 * metric[key]:.2f} %" in text, f"{kind} {metric['name']}: {key} of the record is shown")
    shown = tab.run("[...document.querySelectorAll('#layers tbody tr')].map(r => [r.cells[0].textContent, r.cells[2].textContent])")
    for layer, (name, decibels) in zip(run["record"]["profile"]["layers"], shown):
        value = layer["standalone"]["sqnr_db"]["value"]
        expect(name == layer["name"] and (value is None or decibels.startswith(f"{value:.2f}")), f"SQNR of {layer['name']} is the record's")


def check_graph(tab, run):
    rules = {entry["value"]: entry["rule"] for entry in run["record"]["plan"]["quantized"]}
    tab.middle("#view")
    tab.settle()
    at = tab.run("""(() => { const wire = document.querySelector('#view .wire[data-kind=q8] .edge'), m = wire.getScreenCTM();
        const p = wire.getPointAtLength(wire.getTotalLength() / 2); return [p.x * m.a + m.e, p.y * m.d + m.f, wire.parentNode.item.value]; })()""")
    tab.hover(at[0], at[1])
    tip = tab.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    expect(rules[at[2]] in tip, f"the reason of '{at[2]}' shows on hover, not '{tip}'")
    tab.send("Emulation.setTouchEmulationEnabled", enabled=True)
    tab.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": at[0], "y": at[1]}])
    tab.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    tab.send("Emulation.setTouchEmulationEnabled", enabled=False)
    tab.settle()
    expect(rules[at[2]] in tab.run("document.getElementById('details').textContent"), "the reason shows where it was touched")
    tab.run("document.getElementById('view').focus()")
    first = run["graph"]["nodes"][0]
    tab.key("ArrowDown")
    tab.run("document.querySelector('#graph button[aria-label^=\"Go to the beginning\"]').click()")
    tab.run("document.getElementById('view').focus()")
    for _ in range(3):
        tab.key("ArrowUp")
    tab.key("ArrowDown")
    expect(first["name"] in tab.run("document.querySelector('#details h3').textContent"), "the arrow keys walk to the first node")
    expect(any(rules.get(value, "\0") in tab.run("document.getElementById('details').textContent") for value in first["inputs"]),
           "and its reasons are shown")
    expect("quantizer lsq" not in tab.run("document.getElementById('details').textContent"), "what would learn is not named where nothing did")


def check_theme(tab):
    back = "getComputedStyle(document.body).backgroundColor"
    light = tab.run(back)
    tab.click("#theme")
    expect(tab.run(back) != light and tab.run("document.documentElement.dataset.theme") == "dark", "the button makes it dark")
    tab.click("#theme")
    expect(tab.run(back) == light, "and light again")


def frames(tab):
    """Milliseconds of a frame while all of the graph is moved: the median and the worst of sixty."""
    tab.click("#graph button[aria-label^='Show all']")
    tab.settle()
    times = tab.run("""new Promise(done => { const view = document.getElementById('view'), box = view.getBoundingClientRect(), times = [];
        const send = (kind, i) => view.dispatchEvent(new PointerEvent(kind, { pointerId: 1, clientX: box.left + 60 + i, clientY: box.top + 60 + i, bubbles: true }));
        send('pointerdown', 0); let i = 0, last = performance.now();
        const step = () => { const now = performance.now(); times.push(now - last); last = now; if (++i > 60) { send('pointerup', i); return done(times.slice(1)); }
          try { send('pointermove', 2 * i); } catch { /* no such pointer to capture */ } requestAnimationFrame(step); };
        requestAnimationFrame(step); })""")
    times.sort()
    return times[len(times) // 2], times[-1]


def measure(page, name):
    with browser.Browser() as tab:
        load = min(tab.open(page) for _ in range(3))
        tab.settle()
        sort = max(timed(tab, f"document.querySelector('#layers th:nth-child({i}) button').click()") for i in (1, 3, 7))
        search = "const s = document.querySelector('#layers input'); s.value = '1'; s.dispatchEvent(new Event('input'))"
        find = timed(tab, f"(() => {{ {search} }})()")
        median, worst = frames(tab)
        nodes = len(data_in(page)["runs"][0]["graph"]["nodes"])
        print(f"{name}: {nodes} nodes, {page.stat().st_size / 1e6:.2f} MB; load {load:.0f} ms, sort {sort:.0f} ms, filter {find:.0f} ms, "
              f"a frame of moving the graph {median:.1f} ms (worst {worst:.1f})", flush=True)
    return load, sort, find, median


def check_page(page, name):
    run = data_in(page)["runs"][0]
    with browser.Browser() as tab:
        tab.open(page)
        tab.settle()
        check_numbers(tab, run)
        sections.check_verdict(tab, run)
        sections.check_axes(tab)
        sections.check_kept(tab, run)
        check_table(tab, run)
        check_graph(tab, run)
        sections.check_histogram(tab, run)
        sections.check_channels(tab, run)
        check_theme(tab)
        expect(tab.run("document.querySelectorAll('img, body script').length") == 2, f"{name}: no name became an element")
        expect(tab.requests == [f"file://{page}"], f"{name}: nothing but the page is asked for, not {tab.requests}")
        expect(not tab.errors, f"{name}: no complaints, not {tab.errors}")
    with browser.Browser(390, 844, phone=True) as tab:
        tab.open(page)
        tab.settle()
        sections.check_phone(tab)
        expect(not tab.errors, f"{name}: no complaints on a phone, not {tab.errors}")
    with browser.Browser() as tab:
        tab.open(page)
        tab.settle()
        sections.check_printing(tab, run)
    load, sort, find, frame = measure(page, name)
    expect(load < 20000 and sort < 5000 and find < 5000, f"{name}: load under 20 s, sort and filter under 5 s, even on a busy machine")
    expect(frame < 250, f"{name}: half of the frames of moving the graph take less than 250 ms, even on a busy machine, not {frame:.0f}")


def check_side_by_side(page):
    both = data_in(page)["runs"]
    with browser.Browser() as tab:
        tab.open(page)
        tab.settle()
        heads = tab.run("[...document.querySelectorAll('#layers th')].map(h => h.textContent)")
        expect(all(any(run["name"] in head for head in heads) for run in both), f"each run has its column, not {heads}")
        tab.run("(() => { const pick = document.getElementById('run'); pick.value = '1'; pick.dispatchEvent(new Event('change')); })()")
        tab.settle()
        expect(both[1]["name"] in tab.run("document.querySelector('#summary .lead').textContent"), "the second run can be chosen")
        expect("adaround" in tab.run("document.getElementById('curves').textContent"), "the curves of reconstruction are there")
        expect(tab.run("document.querySelectorAll('#curves circle').length") > 4, "and drawn")
        sections.check_units(tab, both[1])
        sections.check_verdict(tab, both[1])
        expect(not tab.errors, f"side by side: no complaints, not {tab.errors}")


def check_broken(page):
    run = data_in(page)["runs"][0]
    with browser.Browser() as tab:
        tab.open(page)
        tab.settle()
        sections.check_verdict(tab, run)
        expect("accuracy was lost" in sections.text_of(tab, "#summary .advice"), "a broken network is called so")
        expect(not tab.errors, f"a broken network: no complaints, not {tab.errors}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, default=runs.ROOT / "build/release/quench")
    parser.add_argument("--page", type=pathlib.Path)
    arguments = parser.parse_args()
    if not browser.find():
        print("no chromium: tools/install-packages --browser installs it")
        return SKIPPED
    if arguments.page:
        measure(arguments.page.resolve(), arguments.page.name)
        return 0
    quench = arguments.program.resolve()
    with tempfile.TemporaryDirectory(prefix="quench-page-") as name:
        folder = pathlib.Path(name)
        runs.demo(quench, folder / "demo")
        with browser.Browser() as tab:
            tab.open(folder / "demo/report.html")
            sections.check_command(tab, "demo", f"{runs.DEMO}&offset=200")
        runs.verify_and_measure(quench, folder / "demo")
        check_page(folder / "demo/report.html", "the demo")
        runs.demo_in_2_bits(quench, folder / "broken")
        check_broken(folder / "broken/report.html")
        runs.demo_in_4_bits(quench, folder / "low")
        runs.call(quench, "report", folder / "demo", folder / "low", "-o", folder / "both.html")
        check_side_by_side(folder / "both.html")
        runs.big(quench, folder)
        check_page(folder / "big/report.html", "a made-up network")
    print("all held")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks of single sections of the page, each against the data that the page carries."""

CLEARLY = 0.05  # p-values below it are called a change


def expect(held, what):
    if not held:
        raise SystemExit(f"FAILED: {what}")


def text_of(tab, selector):
    return tab.run(f"[...document.querySelectorAll({selector!r})].map(one => one.textContent).join(' ')")


def shown_tensor(tab):
    return tab.run("document.querySelector('#tensors h3.mono').textContent")


def choose_layer(tab, name):
    tab.run(f"[...document.querySelectorAll('#layers tbody tr')].find(row => row.cells[0].textContent === {name!r}).click()")
    tab.settle()


def check_verdict(tab, run):
    """What the paired test says stands in words; what to do follows from it."""
    paired, advice = run["record"].get("paired"), text_of(tab, "#summary .advice")
    if not paired:
        return
    worse = paired["p_value"] < CLEARLY and paired["only_that_right"] > paired["only_this_right"]
    said = "worse than float" if worse else "not distinguishable from float"
    expect(f"{said} on {paired['items']} items (McNemar p" in text_of(tab, "#summary .verdict"), f"the verdict is '{said}'")
    if worse:
        worst = [f'{{match: "{layer["name"]}", float: true}}' for layer in run["record"]["profile"]["layers"][:3]]
        expect(f"layers: [{', '.join(worst)}]" in advice, f"there is a rule for the worst layers to paste, not '{advice}'")
        expect(run["record"]["profile"]["layers"][0]["worst"] in advice, "and what they lose by")
        expect(("--method blockwise" in advice) == ("reconstruction" not in run["record"]), "what was not tried is offered, and only that")
    else:
        expect("accuracy was lost" not in advice and "What now" in advice, "no alarm where nothing was lost")


def check_units(tab, run):
    """A row for each unit of a reconstruction, with the record's numbers; notes in a column of their own where there are any."""
    units = run["record"]["reconstruction"]["units"]
    tables = tab.run("""[...document.querySelectorAll('#curves table')].map(table => [[...table.querySelectorAll('th')].map(h => h.textContent),
        [...table.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => [cell.textContent, cell.title]))])""")
    expect(len(tables) == 1, f"one run was reconstructed, and it has one table, not {len(tables)}")
    heads, rows = tables[0]
    wanted = ["unit", "layers", "error", "after", "moved", "iterations", "time"]
    expect(heads[:7] == wanted and len(rows) == len(units), f"the table of units has its columns and rows, not {heads}")
    expect((heads[7:] == ["note"]) == any(unit["note"] or unit["resumed"] for unit in units), "notes have a column where there are any")
    for unit, cells in zip(units, rows):
        text = [cell[0] for cell in cells]
        expect(cells[0][1] == unit["name"] and cells[1][1] == ", ".join(unit["layers"]), f"'{unit['name']}' is named with its layers")
        for error, shown in zip((unit["error_before"], unit["error_after"]), text[2:4]):
            expect(abs(float(shown) - error) <= 0.001 * error, f"the error of '{unit['name']}' is the record's, not {shown}")
        expect(text[4] == f"{100 * unit['moved']:.1f} %" and text[5] == f"{unit['iterations']:,}", f"so are moves and iterations, not {text}")
        expect(unit["note"] in text[-1], f"the note of '{unit['name']}' is shown")


def check_axes(tab):
    """The metrics of these runs are shares: their axes stay within 0 and 100 %, even where an interval ends beside it."""
    ends = tab.run("[...document.querySelectorAll('#summary svg[data-low]')].map(one => [Number(one.dataset.low), Number(one.dataset.high)])")
    expect(all(0 <= low < high <= 1 for low, high in ends), f"an axis of shares ends at 100 %, not {ends}")


def check_kept(tab, run):
    """What verify and bench kept is shown."""
    text = text_of(tab, "#summary")
    for one in run["verified"]:
        expect("passed" in text and one["runtime"] in text, "what was verified is shown")
        expect(one["path"] in text_of(tab, "#summary .advice"), "the file that passed is named")
        expect(f"passed in {one['runtime']}" in text_of(tab, "#provenance"), "and marked among those written")
    for one in run["speeds"]:
        expect("Speed on this machine" in text and f"{one['items_per_second']:,.1f}" in text, "the measured speed is shown")


def check_command(tab, folder, data):
    """Before anything was verified: the command for it, with the run's own folder and data."""
    wanted = f"quench verify {folder}/deploy --data '{data}' --layers"
    expect(wanted in text_of(tab, "#summary .advice"), f"the next command is '{wanted}'")


def check_histogram(tab, run):
    """Opens on the worst layer's output; a bar for each bin with values, the range of the codes behind."""
    first = run["record"]["profile"]["layers"][0]
    tensors = {one["value"]: one for one in run["activations"]["tensors"] + run["weights"]}
    expect(shown_tensor(tab) == first["output"].removesuffix(".fq"), f"the output of '{first['name']}' is shown first, not {shown_tensor(tab)}")
    tensor = tensors[shown_tensor(tab)]
    bars = tab.run("""[...document.querySelector('#tensors svg').querySelectorAll('rect')].map(r => [r.getAttribute('fill'), r.getAttribute('x'),
        Number(r.getAttribute('width'))])""")
    expect(bars[0][0] == "var(--band)" and bars[0][2] > 10, "the range of the codes is drawn")
    expect(len({x for _, x, _ in bars[1:]}) == sum(count > 0 for count in tensor["counts"]), "each bin with values has a bar")
    expect(tab.run("document.querySelectorAll('#tensors svg .clip').length") >= 1, "the ends of the range are marked")
    other = next(layer for layer in run["record"]["profile"]["layers"][1:] if layer["output"].removesuffix(".fq") in tensors)
    choose_layer(tab, other["name"])
    expect(shown_tensor(tab) == other["output"].removesuffix(".fq"), "a click on a layer shows the values that it gives")


def check_channels(tab, run):
    tensor = next(one for one in run["weights"] if len(one.get("channel_min", [])) > 1)
    tab.run(f"""(() => {{ const find = document.querySelector('#tensors input[type=search]'); find.value = {tensor['value']!r};
        find.dispatchEvent(new Event('input')); document.querySelector('#tensors tbody tr').click(); }})()""")
    tab.settle()
    expect(shown_tensor(tab) == tensor["value"], "a click on a tensor shows it")
    drawn = tab.run("(document.querySelectorAll('#tensors svg')[1].querySelector('path').getAttribute('d').match(/M/g) ?? []).length")
    expect(drawn == len(tensor["channel_min"]), f"each of {len(tensor['channel_min'])} channels has its bar, not {drawn}")


def check_printing(tab, run):
    """Rows that were never scrolled to are printed too."""
    count = "document.querySelectorAll('#layers tbody tr').length"
    layers = len(run["record"]["profile"]["layers"])
    before = tab.run(count)
    tab.send("Page.printToPDF")
    expect(tab.run(count) == layers, f"printing shows all {layers} layers, not {tab.run(count)} ({before} before)")


def check_phone(tab):
    expect(tab.run("document.documentElement.scrollWidth") <= 390, "no sideways scrolling on a phone")
    expect(tab.run("(() => { const nav = document.querySelector('nav'); return nav.scrollWidth <= nav.clientWidth; })()"), "no section's link is cut off")
    expect(tab.run("[...document.querySelectorAll('#summary svg')].every(one => one.querySelectorAll('.tick').length > 1)"),
           "an axis has two ticks or more on a phone")
    expect(" to " in text_of(tab, "#summary svg") or not tab.run("document.querySelectorAll('#summary svg').length"), "and intervals their numbers")

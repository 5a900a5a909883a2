"""The report in a real browser: from a file, offline, without an error; its map plays, its losses can be chosen, its charts saved."""
from __future__ import annotations

import io
import json
import shutil
import time
from xml.etree import ElementTree

import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from analysis import analyse
from tests.analysis.rundirs import network

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def report(tmp_path_factory, spark):
    log = network(8, 60.0, 4, radius=200.0, side=400.0, kinds=4, crash=True, window=[0.0, 50.0], loss=0.15)
    path = log.write(tmp_path_factory.mktemp("browser") / "run")
    analyse(path)
    return path / "report.html"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Where the browser saves files."""
    return tmp_path_factory.mktemp("saved")


@pytest.fixture(scope="module")
def browser(report, saved, tmp_path_factory):
    options = Options()
    options.add_experimental_option("prefs", {"download.default_directory": str(saved)})
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1280,1000"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.get(report.as_uri())
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def outcomes(report):
    return pd.read_parquet(report.parent / "tables" / "outcomes.parquet")


@pytest.fixture(scope="module")
def lost(outcomes):
    """The lost pairs that count, in the order of publication."""
    return outcomes[~outcomes["local"] & outcomes["reason"].notna()].sort_values(["published", "event", "node"], ignore_index=True)


@pytest.fixture(autouse=True)
def paused(browser):
    if browser.find_element(By.ID, "play").text == "Pause":
        browser.find_element(By.ID, "play").click()
    browser.execute_script("run.setSpeed(10)")


def picture(browser) -> str:
    return browser.execute_script("return document.getElementById('map').toDataURL()")


def clock(browser) -> float:
    return float(browser.find_element(By.ID, "clock").text.split()[0])


def move_slider(browser, value: int) -> None:
    browser.execute_script("const s = document.getElementById('time'); s.value = arguments[0];"
                           "s.dispatchEvent(new Event('input'))", value)


def test_the_page_is_whole_and_without_errors(browser):
    assert "made" in browser.title
    assert len(browser.find_elements(By.CSS_SELECTOR, "svg.chart")) >= 6
    assert browser.find_element(By.ID, "correctness").text.startswith("Safety holds")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_the_page_says_what_was_run(browser):
    assert browser.find_element(By.ID, "setting").text == (
        "8 hosts · 60 s, simulated (sim) · seed 4 · random_waypoint in 400 × 400 m · radio unit_disk, range 150 m")
    scenario = browser.find_element(By.ID, "scenario")
    assert scenario.text == "The scenario"  # closed
    scenario.find_element(By.TAG_NAME, "summary").click()
    rows = [row.text for row in scenario.find_elements(By.TAG_NAME, "tr")]
    assert "area [400.0, 400.0]" in rows and "[radio]" in rows and "seed 4" in rows
    scenario.find_element(By.TAG_NAME, "summary").click()


def test_the_page_asks_the_network_for_nothing(browser):
    page = browser.current_url
    browser.get(page)
    asked = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent" and message["params"]["documentURL"] == page:
            asked.append(message["params"]["request"]["url"])
    assert page in asked and all(url.startswith(("file:", "data:")) for url in asked)


def test_the_slider_moves_time_and_the_drawing(browser):
    move_slider(browser, 500)
    assert clock(browser) == 5.0
    early = picture(browser)
    move_slider(browser, 4500)
    assert clock(browser) == 45.0
    assert picture(browser) != early
    move_slider(browser, 500)
    assert picture(browser) == early  # the drawing is a function of time alone
    browser.find_element(By.ID, "time").send_keys(Keys.ARROW_RIGHT)
    assert clock(browser) > 5.0


@pytest.mark.real_time
def test_play_moves_on_and_pause_stops(browser):
    move_slider(browser, 0)
    button = browser.find_element(By.ID, "play")
    button.click()
    until = time.monotonic() + 300
    while clock(browser) < 1.0 and time.monotonic() < until:
        time.sleep(0.05)
    assert clock(browser) >= 1.0
    button.click()
    stopped = clock(browser)
    time.sleep(0.3)
    assert clock(browser) == stopped and button.text == "Play"


def test_a_dead_host_is_not_counted(browser):
    move_slider(browser, 2000)
    assert browser.find_element(By.ID, "count-hosts").text == "8"
    move_slider(browser, 3000)  # host 1 is down from 24 to 36 s
    assert browser.find_element(By.ID, "count-hosts").text == "7"


def lanes(browser) -> list:
    return browser.find_elements(By.CSS_SELECTOR, "#lanes .lane")


def card(browser) -> dict[str, str]:
    """What the card says of the chosen loss."""
    box = browser.find_element(By.ID, "loss")
    facts = dict(zip([one.text for one in box.find_elements(By.TAG_NAME, "dt")], [one.text for one in box.find_elements(By.TAG_NAME, "dd")],
                     strict=True))
    return facts | {"reason": box.find_element(By.TAG_NAME, "h3").text, "way": box.find_element(By.CLASS_NAME, "way").text}


def test_numbers_of_the_page_are_those_of_the_tables(browser, outcomes, lost):
    counted = outcomes[~outcomes["local"] & ~outcomes["node_down"]]
    assert f"{counted['in_time'].sum()} of {len(counted)} expected" in browser.find_element(By.CLASS_NAME, "cards").text
    names = [lane.find_element(By.CLASS_NAME, "lane-name").text.split("\n") for lane in lanes(browser)]
    assert len(lost) > 10 and {name.replace(" ", "_"): int(n) for name, n in names} == lost["reason"].value_counts().to_dict()
    charts = {figure.get_dom_attribute("data-name"): pd.read_csv(io.StringIO(json.loads(
        figure.find_element(By.TAG_NAME, "script").get_attribute("textContent")))) for figure in browser.find_elements(By.CSS_SELECTOR, "figure[data-name]")}
    assert charts["made-losses"].set_index("reason")["pairs"].to_dict() == lost["reason"].value_counts().to_dict()
    hops = counted[counted["in_time"]]["hops"].astype(int).value_counts()
    assert charts["made-hops"].set_index("hops")["deliveries"].to_dict() == hops.to_dict()
    over_time = charts["made-delivery"]
    assert [over_time[name].sum() for name in ("expected", "delivered", "reachable")] == [
        len(counted), counted["in_time"].sum(), counted["bound"].notna().sum()]
    assert charts["made-latency"]["latency_s"].to_numpy() == pytest.approx(counted["latency"].quantile([k / 100 for k in range(101)]).to_numpy())


def test_a_mark_on_the_time_line_shows_where_an_event_ended(browser, lost):
    with_hop = lost[lost["near"].notna()]
    loss = with_hop.iloc[len(with_hop) // 2]
    canvas = next(lane for lane in lanes(browser) if lane.text.startswith(loss["reason"].replace("_", " "))).find_element(By.TAG_NAME, "canvas")
    before = picture(browser)
    at = loss["published"] / 60.0 - 0.5  # of its width, from its middle
    ActionChains(browser).scroll_to_element(canvas).move_to_element_with_offset(canvas, round(at * canvas.size["width"]), 0).click().perform()
    said = card(browser)
    published = float(said["published"].split()[0])
    near = lost[(lost["published"] - published).abs() < 0.001]
    assert len(near) and set(near["reason"].str.replace("_", " ")) >= {said["reason"]} and abs(published - loss["published"]) < 1.0
    assert said["event"] in set(near["event"]) and said["evidence"] in set(near["detail"])
    assert clock(browser) == pytest.approx(published, abs=0.05) and picture(browser) != before


def test_losses_can_be_walked_through_by_keys(browser, lost):
    reason = lost["reason"].value_counts().index[0]
    mine = lost[lost["reason"] == reason]
    canvas = next(lane for lane in lanes(browser) if lane.text.startswith(reason.replace("_", " "))).find_element(By.TAG_NAME, "canvas")
    canvas.send_keys(Keys.HOME)
    events = [card(browser)["event"]]
    for _ in range(3):
        canvas.send_keys(Keys.ARROW_RIGHT)
        events.append(card(browser)["event"])
    assert events == mine["event"].to_list()[:4]
    canvas.send_keys(Keys.END, Keys.ARROW_LEFT)
    assert card(browser)["event"] == mine["event"].iloc[-2]
    with_hop = lost[lost["near"].notna()].iloc[0]
    browser.execute_script("document.querySelectorAll('#lanes canvas')[arguments[0]].focus()",
                           lost["reason"].value_counts(sort=True).index.get_loc(with_hop["reason"]))
    steps = lost[lost["reason"] == with_hop["reason"]].index.get_loc(with_hop.name)
    browser.switch_to.active_element.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * steps)
    assert card(browser)["way"].endswith(f"; it ended between h{with_hop['near']:.0f} and h{with_hop['far']:.0f}")


@pytest.mark.real_time
def test_an_event_is_played_slowly(browser, lost):
    browser.find_element(By.ID, "next-loss").click()
    while not (slow := browser.find_element(By.CSS_SELECTOR, "#loss button")).is_enabled():
        browser.find_element(By.ID, "next-loss").click()
    start = clock(browser)
    slow.click()
    assert browser.execute_script("return run.speed") < 0.1
    until = time.monotonic() + 300
    while browser.find_element(By.ID, "play").text == "Pause" and time.monotonic() < until:
        time.sleep(0.1)
    assert browser.find_element(By.ID, "play").text == "Play" and start - 0.1 < clock(browser) < start + 10  # it was rounded
    browser.find_element(By.XPATH, "//div[@id='loss']//button[text()='Close']").click()
    assert "Choose a mark" in browser.find_element(By.ID, "loss").text and browser.execute_script("return run.speed") == 10


def test_a_chart_saves_as_svg_that_stands_alone(browser, saved):
    browser.find_element(By.CSS_SELECTOR, "figure[data-name=made-hops] .save button").click()
    until = time.monotonic() + 300
    while not (saved / "made-hops.svg").is_file() and time.monotonic() < until:
        time.sleep(0.1)
    text = (saved / "made-hops.svg").read_text()
    assert "var(--" not in text and "#1f6fb2" in text  # colors without the page
    assert ElementTree.fromstring(text.encode()).tag == "{http://www.w3.org/2000/svg}svg"


def test_boxes_change_the_drawing(browser):
    move_slider(browser, 1000)
    before = picture(browser)
    box = browser.find_element(By.ID, "show-radio")
    box.click()
    assert picture(browser) != before
    box.click()
    assert picture(browser) == before


@pytest.mark.parametrize("width", [1400, 800, 500])
def test_nothing_is_wider_than_the_window(browser, width):
    browser.set_window_size(width, 900)
    inner, content = browser.execute_script("return [window.innerWidth, document.documentElement.scrollWidth]")
    assert content <= inner
    cut = browser.execute_script("""
        const closed = [...document.querySelectorAll("details:not([open])")];
        for (const one of closed) one.open = true;
        const cut = [...document.querySelectorAll(".wide")].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText.slice(0, 60));
        for (const one of closed) one.open = false;
        return cut;""")
    assert width < 1400 or cut == []  # no table loses a column

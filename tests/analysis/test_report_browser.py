"""The report in a real browser: from a file, offline, without an error, and its map plays."""
from __future__ import annotations

import json
import shutil
import time

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from analysis import analyse
from tests.analysis.rundirs import network

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def report(tmp_path_factory, spark):
    log = network(8, 60.0, 4, radius=200.0, side=400.0, kinds=4, crash=True, window=[0.0, 50.0])
    path = log.write(tmp_path_factory.mktemp("browser") / "run")
    analyse(path)
    return path / "report.html"


@pytest.fixture(scope="module")
def browser(report, tmp_path_factory):
    options = Options()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1280,1000"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.get(report.as_uri())
    yield driver
    driver.quit()


@pytest.fixture(autouse=True)
def paused(browser):
    if browser.find_element(By.ID, "play").text == "Pause":
        browser.find_element(By.ID, "play").click()


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


def test_boxes_change_the_drawing(browser):
    move_slider(browser, 1000)
    before = picture(browser)
    box = browser.find_element(By.ID, "show-radio")
    box.click()
    assert picture(browser) != before
    box.click()
    assert picture(browser) == before


@pytest.mark.parametrize("width", [1280, 800])
def test_nothing_is_wider_than_the_window(browser, width):
    browser.set_window_size(width, 900)
    inner, content = browser.execute_script("return [window.innerWidth, document.documentElement.scrollWidth]")
    assert content <= inner

"""Files of other formats: refused by what they are, whichever format they are given as, and never quoted."""

from __future__ import annotations

import numpy as np
import pytest

import mobility
from mobility import TraceError

# name -> (a word of what must be told, the text)
KNOWN = {
    "haggle": ("Haggle", "1\t11\t1310\t1371\t1\t0\r\n1\t11\t1626\t1647\t2\t255\r\n2\t12\t840\t876\t1\t0\r\n"),
    "haggle, one line": ("Haggle", "1 2 100 130 1 0\n"),
    "haggle, one device": ("Haggle", "1 11 1310 1371 1 0\n1 11 1626 1647 2 255\n1 12 840 876 1 0\n"),
    "intervals": ("contact intervals", "1 2 100 130\n1 3 110 120\n2 3 400 430\n"),
    "sociopatterns": ("SocioPatterns", "20 1157 1232 5A 5A\n40 1157 1191 5A 5B\n"),
    "sociopatterns, numbers": ("SocioPatterns", "1353301460 1157 1232 5 5\n1353301480 1157 1191 5 6\n"),
    "sightings": ("SocioPatterns", "1353301460 1157 1232\n1353301480 1157 1191\n1353301500 1157 1191\n"),
    "track": ("one node's track", "0 -10 20\n1 -9 20.5\n2 -8 21\n3 -8 22\n"),
    "track, whole meters": ("track", "0 10 20\n1 11 20\n2 12 21\n"),
    "samples": ("a table with one place per line", "0 0.0 591.2 282.1\n0 1.7 590.5 277.9\n1 0.0 3.5 4.5\n"),
    "samples by time": ("a table with one place per line", "0.0 1 591.2 282.1\n0.0 2 590.5 277.9\n1.0 1 3.5 4.5\n"),
    "columns": ("a table", "0 0.5 59.2 88.1 1.5 2.5\n1 1.5 59.5 87.9 1.5 2.5\n2 2.5 3.5 94.5 1.5 2.5\n"),
    "cabspotting": ("Cabspotting", "37.75134 -122.39488 0 1213084687\n37.75136 -122.39527 1 1213084659\n"),
    "one": ("The ONE", "0 900 0 1000 0 1000\n0.0 0 43.0 781.4\n0.0 1 920.1 740.7\n"),
    "one, 3d": ("The ONE", "0 900 0 1000 0 1000 0 9\n0.0 a 43.0 781.4 1\n0.0 b 920.1 740.7 2\n"),
    "one, heights told and not given": ("The ONE", "0 900 0 1000 0 1000 0 0\n0.0 0 43.0 781.4\n0.0 1 920.1 740.7\n"),
    "haggle, from one device numbered 0": ("Haggle", "0 1 5 10 1 0\n0 2 7 20 1 0\n"),
    "plt": ("Geolife", "Geolife trajectory\nWGS 84\nAltitude is in Feet\n"),
    "wkt": ("WKT", "LINESTRING (0 0, 1 1, 5 5)\n"),
    "imn": ("CORE", "node n1 {\n    type router\n    iconcoords {100.0 200.0}\n}\n"),
    "one's contacts": ("The ONE's connectivity", "1.00 CONN 11 13 up\n29.00 CONN 8 9 down\n"),
    "dtnsim2": ("DTNSim2", "@1.00 c11 <-> c13 up\n@1.00 p1 <-> c11 up\n"),
    "csv": ("CSV", "node,time,x,y\n0,0.0,43.0,781.4\n"),
    "csv, bare": ("CSV", "0;0.0;677.6;297.5\n0;74.0;235.9;56.2\n"),
    "csv, quoted": ("CSV", '"node","time","x","y"\r\n"0","0.0","43.0","781.4"\r\n'),
    "fcd": ("SUMO's floating car", '<?xml version="1.0"?>\n<!-- long -->\n<fcd-export>\n<timestep time="0.00">\n'),
    "fcd, csv": ("SUMO's floating car", "timestep_time;vehicle_id;vehicle_x\n0.0;a;3.5\n"),
    "gpx": ("GPX", '<?xml version="1.0"?>\n<gpx version="1.0"><trk>\n'),
    "kml": ("KML", '<?xml version="1.0"?>\n<kml xmlns="http://www.opengis.net/kml/2.2">\n'),
    "nmea": ("NMEA", "$GPRMC,061550.000,V,4516.411,N,01342.853,E,0.00,0.00,181220,,*13\n"),
    "eel": ("EMANE", "0.0  nem:1 location gps 40.025495,-74.315441,3.0\n"),
    "ns-3": ("ns-3", "now=+0ns node=0 pos=1.000:1.000:0.000 vel=-0.293:-0.956:0.000\n"),
    "glomosim": ("GloMoSim", "0 502.9S (48.4, 235.5, 0.0)\n0 531.4S (48.4, 235.5, 0.0)\n"),
    "wiseml": ("WiseML", "<timestamp>0.0</timestamp>\n<node id=\"0\">\n"),
    "ansim": ("ANSim", "<simulation>\n<mobility>\n"),
    "geojson": ("GeoJSON", '{"type":"FeatureCollection"}\n'),
    "json": ("JSON", '[{"node": 1}]\n'),
    "replaying": ("two numbers per line", "10 1\n11 2\n12 3\n"),
    "interval format": ("interval format", "#X 600.0\n#Y 400.0\n0 0.0 43.0 78.4\n0 10.0 43.1 77.6\n"),
}


@pytest.mark.parametrize("format", [None, "bonnmotion", "ns2"])
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_format_is_named_and_refused(tmp_path, name, format):
    told, text = KNOWN[name]
    (tmp_path / "x.dat").write_bytes(text.encode())
    with pytest.raises(TraceError) as caught:
        mobility.read(tmp_path / "x.dat", format)
    assert "looks like" in str(caught.value) and told in str(caught.value)
    assert 'give "bonnmotion" or "ns2"' not in str(caught.value)


@pytest.mark.parametrize(("row", "told"), [
    ("{0} {1} {2}", "contacts"), ("{0} {1} {2}.5 {3} 1.5 90", "a table"), ("{0} 99 {2} {3} 1 0", "contact intervals"),
])
def test_a_table_is_known_by_all_of_it(tmp_path, row, told):
    """Its first instant, or its first node, may have more lines than are looked at closely."""
    lines = [row.format(20 * (k // 60), k % 60, 100 + k, 200 + k) for k in range(120)]
    (tmp_path / "x.movements").write_text("\n".join(lines) + "\n")
    with pytest.raises(TraceError, match=f"looks like {told}"):
        mobility.read(tmp_path / "x.movements")


@pytest.mark.parametrize(("format", "text", "cure"), [
    ("bonnmotion", "# x\n$node_(0) set X_ 4\n", 'format = "ns2"'),
    (None, '$ns_ at 1 "$node_(0) setdest 1 2 3"\n', 'format = "ns2"'),
    ("ns2", "0 1 2 10 11 2\n0 3 4 10 5 6\n", 'format = "bonnmotion"'),
])
def test_the_other_format_that_is_read_is_named(tmp_path, format, text, cure):
    (tmp_path / "x.dat").write_text(text)
    with pytest.raises(TraceError, match=cure):
        mobility.read(tmp_path / "x.dat", format)


@pytest.mark.parametrize("text", [
    "0 1 2\n0 3 4\n0 5 6\n",  # hosts that stand
    "0 1 2 900 1 2\n0 3 4 900 5 6\n0 3 4 900 8 6\n",
    "10 150 150 20 250 150\n10 100 100 20 200 100\n",
    "1 100 100 3 175 100 6 175 250\n1 300 100 3 225 100 6 225 250\n",
    "0 1.5 2 10 1 0\n",
    "0 1 2 100 1 0\n",
    "0 1 2\n0 3 4 9 7 7\n5 5 6 7 3 3 8 1 1\n",
    "#3D\n0 1 2 3\n0 4 5 6\n",
])
def test_bonnmotion_files_are_not_taken_for_another_format(tmp_path, text):
    (tmp_path / "x.movements").write_text(text)
    assert len(mobility.read(tmp_path / "x.movements")) == len([line for line in text.split("\n") if line[:1] > "#"])


@pytest.mark.parametrize("name", ["haggle, one line", "sightings", "track", "columns"])
def test_whoever_says_how_many_nodes_there_are_is_believed(tmp_path, name):
    text = KNOWN[name][1]
    (tmp_path / "x.movements").write_text(text)
    with pytest.raises(TraceError, match=f"put its number of nodes, nn={text.count(chr(10))}, into x.params"):
        mobility.read(tmp_path / "x.movements")
    (tmp_path / "x.params").write_text(f"nn={text.count(chr(10))}\n")
    assert len(mobility.read(tmp_path / "x.movements")) == text.count("\n")


def test_random_movements_without_params_are_read(tmp_path):
    """Whole numbers, few waypoints: what BonnMotion writes must not look like contacts by chance."""
    draw = np.random.default_rng(5)
    for _ in range(200):
        hosts, waypoints = draw.integers(1, 6), draw.integers(2, 4)
        end = int(draw.integers(50, 900))
        lines = [" ".join(f"{t} {draw.integers(0, 500)} {draw.integers(0, 500)}" for t in np.linspace(0, end, waypoints))
                 for _ in range(hosts)]
        (tmp_path / "x.movements").write_text("\n".join(lines))
        assert len(mobility.read(tmp_path / "x.movements")) == hosts


SECRETS = ["root:$6$Xq9secretsecret:19700:0:99999:7:::", "token hunter2secret", "UUID=12secret-34 / ext4 defaults 0 1",
           "-----BEGIN OPENSSH PRIVATE secret-----", "export KEY=$secret", '{"secret": 1}', "$secret = 5", "secret",
           "set password secret", "setdest secret", "a,b,secret", "<secret/>", "at secret setdest $secret"]


@pytest.mark.parametrize("format", [None, "bonnmotion", "ns2"])
@pytest.mark.parametrize("line", SECRETS)
def test_what_is_no_trace_is_not_quoted(tmp_path, line, format):
    (tmp_path / "x").write_text(f"{line}\n{line}\n")
    with pytest.raises(TraceError) as caught:
        mobility.read(tmp_path / "x", format)
    assert "secret" not in str(caught.value)

"""What frames alone tell, with no record at all: who heard whom, losses, airtime, retransmissions, hidden terminals, events.

A field walk with one sniffer suffices: nodes say in their beacons whom they hear, and number beacons, datagrams and what they
send over channels. Names of fields are looked up in node/schema/; without a field what it would tell is null, and a note.
All of it is Spark's: tables of pairs, types and events come out, of which the command shows the first rows.
"""
from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

import node.schema as schema

BEACON, HEARD, SEQUENCE, EXPECTED = "HELLO", "heard", "sequence", "expected"
BEACONS = (BEACON, "NEWS", "BEAT")  # the two last are short: what they leave out is as in the one before
TURN = 16  # beacons after which a short one's number begins again
# IEEE 802.11-2020: clause 17 (OFDM), 15 and 16 (DSSS, the long preamble); as in emulation/airtime.py
PREAMBLE, SYMBOL, SERVICE_AND_TAIL = 20e-6, 4e-6, 22  # s, s, bits
OFDM = (6e6, 9e6, 12e6, 18e6, 24e6, 36e6, 48e6, 54e6)  # bit/s
DSSS, DSSS_PREAMBLE = (1e6, 2e6, 5.5e6, 11e6), 192e-6  # bit/s, s
HT_PREAMBLE = 36e-6  # s, clause 19: mixed format, one stream
AROUND = 24 + 4 + 8 - 14  # bytes that a frame of 802.11 has more than one of Ethernet: header, check sequence, LLC/SNAP
BASE_RATE, DATA_RATE = 6e6, 24e6  # bit/s, of broadcasts and unicasts where neither the capture nor a scenario tells
EVERYBODY = "ff:ff:ff:ff:ff:ff"


class Walk(NamedTuple):
    """The tables; docs/captures.md has their columns."""

    hearing: DataFrame  # receiver, sender: frames, signals, beacons, losses
    airtime: DataFrame  # by type of message
    channels: DataFrame  # sender, receiver: messages and how often they were sent again
    hidden: DataFrame  # pairs that never heard each other and shared a receiver
    events: DataFrame  # how far each was seen to come
    malformed: DataFrame  # by what is wrong


def walk(frames: DataFrame, hosts: bool, rates: tuple[float, float] | None = None) -> Walk:
    """The tables of frames (analysis/frames/table.py, with `t` in s). `hosts`: captures are named by the host whose radio they
    are of. `rates` (bit/s): of broadcasts and of unicasts, for captures that have no rates."""
    good = frames.where("malformed is null")
    ours = good.where("sender is not null")
    # what a radio sent itself is no reception
    heard = ours.where("capture != cast(sender as string)") if hosts else ours
    hearing = _hearing(heard, ours, hosts).persist()  # asked twice; small
    return Walk(hearing, _airtime(good, *(rates or (BASE_RATE, DATA_RATE))), _channels(ours), _hidden(hearing, _beacons(ours), ours, hosts),
                _events(ours, hosts), _malformed(frames))


def notes() -> list[str]:
    """What the schema of this version does not tell."""
    return [f"the schema has no {BEACON}.{field}: {what} is unknown" for field, what in (
        (HEARD, "whom nodes hear by their own word"), (SEQUENCE, "how many beacons were lost")) if not _has(BEACON, field)]


def _has(message: str, field: str) -> bool:
    table = schema.messages().get(message)
    return table is not None and any(one.name == field for one in table.fields)


def _field(message: str, name: str) -> Column:
    """A field of the message `m`, as text; null where the schema has none."""
    return F.get_json_object("m.fields", f"$.{name}") if _has(message, name) else F.lit(None).cast("string")


def _messages(ours: DataFrame) -> DataFrame:
    """One row a message, `m`."""
    return ours.select("capture", "t", "sender", "epoch", "counter", "bytes", F.explode("messages").alias("m"))


def _beacons(ours: DataFrame) -> DataFrame:
    """One row a beacon and node that it names: `receiver` says that it hears `sender`; null for one that names nobody."""
    found = _messages(ours.where(F.exists("messages", lambda m: m["type"].isin(*BEACONS)))).where(F.col("m.type").isin(*BEACONS))
    nodes = F.lit(None).cast("array<string>")
    if _has(BEACON, HEARD):
        inner = next(one for one in schema.messages()[BEACON].fields if one.name == HEARD).type.items[0]
        if inner.kind == "tuple":
            place = next(at for at, item in enumerate(inner.items) if item.kind == "node")
            nodes = F.transform(F.from_json(_field(BEACON, HEARD), "array<array<string>>"), lambda one: one[place])
        else:
            nodes = F.from_json(_field(BEACON, HEARD), "array<string>")
    return found.select(F.col("sender").alias("receiver"), "epoch", "counter", F.explode_outer(nodes.cast("array<bigint>")).alias("named"))


def _whole_channel(heard: DataFrame, hosts: bool) -> DataFrame:
    """Of captures of the whole channel, the frames: only these captures have the datagrams that are for others."""
    found = heard.where("link != 'ethernet'")
    if not hosts:
        return found
    # what a host captured may be what its radio took for itself, unless there is a unicast to somebody else in it
    to_others = F.exists("messages", lambda m: (F.size(m["to"]) > 0) & ~F.exists(m["to"], lambda to: to["node"].cast("string") == F.col("capture")))
    return found.join(found.where(to_others & (F.col("target") != EVERYBODY)).select("capture").distinct(), "capture", "left_semi")


def _hearing(heard: DataFrame, ours: DataFrame, hosts: bool) -> DataFrame:
    pair = ["receiver", "sender"]
    by_capture = heard.groupBy(F.col("capture").alias("receiver"), "sender").agg(
        F.count("*").alias("frames"), F.percentile_approx("signal", 0.5, 1000).alias("signal_median"),
        F.percentile_approx("signal", 0.05, 1000).alias("signal_weak"), F.min("t").alias("first"), F.max("t").alias("last"))
    beacons = _messages(heard).where(F.col("m.type").isin(*BEACONS)).select(
        F.col("capture").alias("receiver"), "sender", "epoch", "counter", _field(BEACON, SEQUENCE).cast("bigint").alias("number"))
    lost = _beacons_lost(beacons)
    whole = _whole_channel(heard, hosts).select(F.col("capture").alias("receiver"), "sender", "epoch", F.col("counter").alias("number"))
    said = _beacons(ours).where("named is not null").distinct().groupBy(
        F.col("receiver").cast("string").alias("receiver"), F.col("named").alias("sender")).agg(F.count("*").alias("said"))
    found = (by_capture.join(lost, pair, "left").join(_lost(whole, "datagrams", "datagrams_missed"), pair, "left")
             .join(said, pair, "full"))
    return found.withColumn("loss", F.col("beacons_missed") / (F.col("beacons") + F.col("beacons_missed"))).select(
        *pair, "frames", "signal_median", "signal_weak", "beacons", "beacons_missed", "loss", "datagrams", "datagrams_missed",
        "said", "first", "last")


def _beacons_lost(beacons: DataFrame) -> DataFrame:
    """As `_lost`, of numbers modulo TURN: between two beacons those are missing that the numbers between them had."""
    life = Window.partitionBy("receiver", "sender", "epoch").orderBy("counter")
    gap = (F.col("number") - F.lag("number").over(life) + TURN - 1) % TURN
    once = beacons.where("number is not null").dropDuplicates(["receiver", "sender", "epoch", "counter"])
    return once.withColumn("gap", F.coalesce(gap, F.lit(0))).groupBy("receiver", "sender").agg(
        F.count("*").alias("beacons"), F.sum("gap").alias("beacons_missed"))


def _lost(numbered: DataFrame, came: str, missed: str) -> DataFrame:
    """How many numbers between the first and the last of a life came and did not."""
    lives = numbered.where("number is not null").groupBy("receiver", "sender", "epoch").agg(
        F.count_distinct("number").alias("n"), (F.max("number") - F.min("number") + 1).alias("span"))
    return lives.groupBy("receiver", "sender").agg(F.sum("n").alias(came), F.sum(F.col("span") - F.col("n")).alias(missed))


def _airtime(good: DataFrame, base: float, data: float) -> DataFrame:
    size = F.coalesce("air", F.col("length") + AROUND)
    rate = F.coalesce("rate", F.when(F.coalesce(F.col("target") == EVERYBODY, F.lit(True)), base).otherwise(data))
    symbols = F.ceil((SERVICE_AND_TAIL + 8 * size) / (rate * SYMBOL) - 1e-9)
    timed = good.withColumn("air", F.when(F.col("rate").isin(*DSSS), DSSS_PREAMBLE + 8 * size / rate).otherwise(
        F.when(rate.isin(*OFDM), PREAMBLE).otherwise(HT_PREAMBLE) + symbols * SYMBOL))
    # many captures may have one transmission: that one counts which has it most often, with the radio's retries
    sent = timed.where("sender is not null").groupBy("capture", "sender", "epoch", "counter", "retry").agg(
        F.count("*").alias("n"), F.max("air").alias("air"), F.first("bytes").alias("bytes"), F.first("messages").alias("messages"))
    once = sent.groupBy("sender", "epoch", "counter", "retry").agg(
        F.max("n").alias("n"), F.max("air").alias("air"), F.first("bytes").alias("bytes"), F.first("messages").alias("messages"))
    ours = once.select("n", "air", "bytes", F.explode("messages").alias("m")).groupBy(F.col("m.type").alias("type")).agg(
        F.sum("n").alias("messages"), F.sum(F.col("n") * F.col("m.bytes")).alias("bytes"),
        F.sum(F.col("n") * F.col("air") * F.col("m.bytes") / F.col("bytes")).alias("airtime"))
    others = (timed.where("sender is null").groupBy("capture", F.when(F.col("kind") == "data", "other data").otherwise(
        F.coalesce("kind", F.lit("not read"))).alias("type")).agg(F.count("*").alias("messages"), F.sum("length").alias("bytes"), F.sum("air").alias("airtime"))
        .groupBy("type").agg(F.max("messages").alias("messages"), F.max("bytes").alias("bytes"), F.max("airtime").alias("airtime")))
    found = ours.unionByName(others)
    total = found.agg(F.sum("airtime").alias("total"))
    family = F.create_map(*[F.lit(text) for table in schema.messages().values() for text in (table.name, table.family)])
    return found.crossJoin(total).select("type", family[F.col("type")].alias("family"), "messages", "bytes", "airtime",
                                         (F.col("airtime") / F.col("total")).alias("share"))


def _addressed(ours: DataFrame) -> DataFrame:
    """One row a message, datagram and addressee: `to`, with nonce and sequence number of the channel."""
    return _messages(ours).where("size(m.to) > 0").select(
        "capture", "t", "sender", "epoch", "counter", "m.event", F.col("m.type").alias("type"),
        _field("ACK", EXPECTED).cast("bigint").alias("expected"), F.explode("m.to").alias("to"))


def _channels(ours: DataFrame) -> DataFrame:
    sent = _addressed(ours).where("to.sequence is not null").groupBy(
        "sender", F.col("to.node").alias("receiver"), "epoch", "to.nonce", "to.sequence").agg(F.count_distinct("counter").alias("n"))
    retries = ours.groupBy("sender", "epoch", "counter", "capture").agg(F.sum(F.col("retry").cast("int")).alias("n")).groupBy(
        "sender", "epoch", "counter").agg(F.max("n").alias("n")).groupBy("sender").agg(F.sum("n").alias("radio_retries"))
    return sent.groupBy("sender", "receiver").agg(
        F.count("*").alias("messages"), F.sum("n").alias("transmissions"), F.sum(F.col("n") - 1).alias("again"),
        (F.sum(F.col("n") - 1) / F.sum("n")).alias("share")).join(retries, "sender", "left")


def _hidden(hearing: DataFrame, beacons: DataFrame, ours: DataFrame, hosts: bool) -> DataFrame:
    """Pairs a < b of whom it is known that neither heard the other, though one receiver or more heard both."""
    links = hearing.select("receiver", "sender").distinct()
    known = beacons.select(F.col("receiver").cast("string").alias("node"))
    if hosts:
        known = known.union(ours.select("capture"))
    known = known.where(F.col("node").rlike(r"^\d+$")).distinct()
    a, b = links.select("receiver", F.col("sender").alias("a")), links.select("receiver", F.col("sender").alias("b"))
    pairs = a.join(b, "receiver").where("a < b").groupBy("a", "b").agg(F.sort_array(F.collect_set("receiver")).alias("receivers"))
    for end in ("a", "b"):
        pairs = pairs.join(known.select(F.col("node").cast("bigint").alias(end)), end, "left_semi")
    for receiver, sender in (("a", "b"), ("b", "a")):
        heard = links.select(F.col("receiver").alias("r"), F.col("sender").alias("s"))
        pairs = pairs.join(heard, (heard["r"] == pairs[receiver].cast("string")) & (heard["s"] == pairs[sender]), "left_anti")
    return pairs.select("a", "b", "receivers")


def _events(ours: DataFrame, hosts: bool) -> DataFrame:
    """Each event that was on the air: where it came, as far as frames show."""
    carried = _messages(ours).where("m.event is not null").withColumn("event", F.col("m.event")).withColumn(
        "source", F.split("event", r"\.")[0].cast("bigint"))
    sent = carried.groupBy("event", "source").agg(
        F.min("t").alias("first"), F.max("t").alias("last"),
        F.count_distinct("sender", "epoch", "counter").alias("transmissions"))
    forwarded = carried.where("sender != source").select("event", F.col("sender").alias("node"), F.lit("forwarded").alias("how"))
    addressed = _addressed(ours)
    to = addressed.where("event is not null and to.sequence is not null").select(
        "event", F.col("sender").alias("from"), F.col("to.node").alias("node"), "to.nonce", "to.sequence").distinct()
    acks = addressed.where("expected is not null").groupBy(F.col("sender").alias("node"), F.col("to.node").alias("from"), "to.nonce").agg(
        F.max("expected").alias("expected"))
    acknowledged = to.join(acks, ["node", "from", "nonce"]).where("expected > sequence").select("event", "node", F.lit("acknowledged").alias("how"))
    shown = forwarded.union(acknowledged)
    if hosts:
        shown = shown.union(received(carried).select("event", "node", F.lit("received").alias("how")))
    reached = shown.distinct().groupBy("event").agg(
        F.sort_array(F.collect_set("node")).alias("reached"),
        *[F.sum((F.col("how") == how).cast("int")).alias(how) for how in ("received", "acknowledged", "forwarded")])
    return sent.join(reached, "event", "left")


def received(carried: DataFrame) -> DataFrame:
    """Which host's capture has an event that another sent to it, or to all. `carried`: _messages with `event`."""
    return carried.where("cast(sender as string) != capture").withColumn("node", F.expr("try_cast(capture as bigint)")).where(
        "node is not null").where((F.size("m.to") == 0) | F.exists("m.to", lambda to: to["node"] == F.col("node"))).select("event", "node", "t")


def _malformed(frames: DataFrame) -> DataFrame:
    return frames.where("malformed is not null").groupBy("capture", F.split("malformed", ":")[0].alias("what")).agg(
        F.count("*").alias("rows"), F.sum("size").alias("bytes"), F.min("offset").alias("first_offset"),
        F.min_by("malformed", "offset").alias("example"))

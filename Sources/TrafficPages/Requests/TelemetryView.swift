internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Telemetry: request counts, errors, latency and storage.
package enum TelemetryView {
    /// The time span of the charts, in minutes.
    private static let minutes = 60
    /// The maximum number of zones with separate numbers.
    private static let zoneLimit = 50
    /// The maximum number of rows of the storage table.
    private static let rowLimit = 200

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let telemetry = visit.log.telemetry
        var parts = telemetry.operations.isEmpty ? [nothing(visit)] : numbers(telemetry, visit)
        if let stored = try await stored(visit) {
            parts.append(
                Section(
                    "stored", "Stored by \(visit.people.actor.displayName), \(visit.place.address.words)",
                    storage(stored, visit)))
        }
        return ComponentPage(
            .telemetry,
            PageHead(
                Tab.telemetry.title,
                [
                    "Requests to the web services since the server started. `/metrics` has the same numbers for Prometheus. `/health` says whether the stores can be written."
                ]), parts)
    }

    private static func nothing(_ visit: Visit) -> any Component {
        visit.log.isOn
            ? EmptyState("No requests yet", "The numbers start with the first request of a client.")
            : EmptyState(
                "Requests are not counted", "The request log is off (`--request-log 0`), so there are no numbers.")
    }

    private static func numbers(_ telemetry: Telemetry, _ visit: Visit) -> [any Component] {
        let now = Timestamp.now()
        let operations = telemetry.operations.sorted {
            ($1.value.count, Name($0.key)) < ($0.value.count, Name($1.key))
        }
        return [
            Figures(figures(telemetry)),
            Columns(style: "charts", [requests(telemetry, now), latency(telemetry, now)].compactMap(\.self)),
            Section(
                "operations", "By operation",
                [
                    Table(
                        "Requests by operation", style: .operations,
                        [
                            .column("operation", "name"), .number("requests"), .number("failed"),
                            .number("failed items"),
                            .number("median"), .number("95th percentile"), .number("slowest"), "0.25 ms to 10 s",
                            .number("records"), .number("in"), .number("out"),
                        ], operations.map { row($0.key, $0.value, visit) })
                ]),
        ]
    }

    private static func figures(_ telemetry: Telemetry) -> [JobProgress.Figure] {
        let all = telemetry.operations.values
        let count = all.reduce(0) { $0 + $1.count }
        let errors = all.reduce(0) { $0 + $1.errors }
        let items = all.reduce(0) { $0 + $1.itemErrors.values.reduce(0, +) }
        return [
            JobProgress.Figure("requests", Digits.grouped(count)),
            JobProgress.Figure("failed", Digits.grouped(errors), note: share(errors, of: count)),
            JobProgress.Figure("items that failed", Digits.grouped(items), note: "also in responses with status 200"),
            JobProgress.Figure("in", Digits.bytes(all.reduce(0) { $0.addingSaturated($1.bytesIn) })),
            JobProgress.Figure(
                "out", Digits.bytes(all.reduce(0) { $0.addingSaturated($1.bytesOut) }),
                note: "before compression"),
        ]
    }

    private static func share(_ part: Int, of all: Int) -> String? {
        all == 0 ? nil : "\(Digits.fixed(Double(part) / Double(all) * 100, 1)) %"
    }

    /// The minutes of the last hour, including those without requests.
    private static func lastHour(_ telemetry: Telemetry, _ now: Timestamp) -> [Telemetry.Minute?] {
        let current = now.milliseconds - now.milliseconds % 60_000
        let known = Dictionary(
            telemetry.minutes.map { ($0.start.milliseconds, $0) }, uniquingKeysWith: { first, _ in first })
        return (0..<Int64(minutes)).map { known[current - (Int64(minutes) - 1 - $0) * 60_000] }
    }

    private static func requests(_ telemetry: Telemetry, _ now: Timestamp) -> Section? {
        let hour = lastHour(telemetry, now)
        guard let highest = hour.compactMap({ $0?.requests }).max() else { return nil }
        let errors = hour.reduce(0) { $0 + ($1.map { $0.errors } ?? 0) }
        return chart(
            "requests", "Requests a minute", top: "\(Digits.grouped(highest)) a minute",
            BarChart(
                hour.map { (Double($0?.requests ?? 0), Double($0?.errors ?? 0)) },
                label:
                    "Requests in each minute of the last hour: \(Digits.count(highest, "request")) at most, \(Digits.grouped(errors)) failed in total"
            ))
    }

    private static func latency(_ telemetry: Telemetry, _ now: Timestamp) -> Section? {
        let means = lastHour(telemetry, now).map { minute in
            minute.map { $0.milliseconds / Double(max(1, $0.requests)) } ?? 0
        }
        guard let highest = means.max(), highest > 0 else { return nil }
        let text = "\(Duration.milliseconds(highest).millisecondsText) ms"
        return chart(
            "latency", "Mean response time", top: text,
            BarChart(
                means.map { ($0, 0) }, label: "Mean response time in each minute of the last hour: \(text) at most"))
    }

    /// - Parameter top: the value of the highest bar.
    private static func chart(_ id: String, _ title: String, top: String, _ chart: BarChart) -> Section {
        Section(
            id, "\(title) \(.faint("at most \(top)"))", style: "chart",
            [chart, Paragraph(.faint("an hour ago") + .faint("now"))])
    }

    /// The storage of the database; `nil` if the engine does not measure it.
    private static func stored(_ visit: Visit) async throws -> DatabaseStorage? {
        guard visit.database.can(.measureStorage) else { return nil }
        return try await visit.measure { try await visit.database.require(.measureStorage).storage(limit: zoneLimit) }
    }

    /// The storage by zone and type, the largest first, and the sum.
    private static func storage(_ stored: DatabaseStorage, _ visit: Visit) -> [any Component] {
        let parts = stored.zones.flatMap { zone in
            zone.types.map { (zoneID: zone.zoneID, type: $0.key, amount: $0.value) }
        }
        let highest = max(1, parts.map(\.amount.allBytes).max() ?? 1)
        func cells(_ zone: String, _ type: Inline, _ amount: RecordTotals, _ meter: Inline) -> [Inline] {
            [
                Inline(zone), type, Inline(Digits.grouped(amount.records)), Inline(Digits.bytes(amount.bytes)),
                Inline(amount.assetBytes == 0 ? "" : Digits.bytes(amount.assetBytes)), meter,
            ]
        }
        var rows = parts.sorted {
            ($1.amount.allBytes, $0.zoneID.zoneName, $0.type) < ($0.amount.allBytes, $1.zoneID.zoneName, $1.type)
        }
        .map { zoneID, type, amount in
            let query = visit.place.inZone(zoneID).link("query", [("type", type.string)])
            return Table.Row(
                cells(
                    visit.zoneName(zoneID), .link(type.string, query), amount,
                    .part(StorageMeter(amount, highest: highest))), head: 1)
        }
        let note: [any Component] =
            storageNote(stored, rows: rows.count).map { [EmptyState(sentence: Inline($0))] } ?? []
        if rows.isEmpty { return [EmptyState(sentence: "Nothing is stored in this database.")] + note }
        rows.removeLast(max(0, rows.count - rowLimit))
        let total = stored.zones.reduce(stored.othersTotal) { $0 + $1.total }
        rows.append(Table.Row(cells("all zones", "all types", total, ""), .sum, head: 1))
        return [
            Table(
                "Stored by zone and type", style: .stored,
                [
                    "zone", "type", .number("records"), .number("fields"), .number("files"),
                    "fields and files compared",
                ], rows),
            EmptyState(
                sentence:
                    "Fields count as JSON in a response, without indexes and earlier versions. A file counts for each record that refers to it, but is stored once."
            ),
        ] + note
    }

    private static func storageNote(_ stored: DatabaseStorage, rows: Int) -> String? {
        var notes: [String] = []
        if rows > rowLimit {
            notes.append(
                "\(Digits.count(rows - rowLimit, "more row")) with less \(rows == rowLimit + 1 ? "is" : "are") left out."
            )
        }
        if stored.others > 0 {
            let (count, total) = (Digits.count(stored.others, "more zone"), stored.othersTotal)
            notes.append(
                "\(count) with less: \(Digits.count(total.records, "record")), \(Digits.bytes(total.allBytes)) together."
            )
        }
        return notes.isEmpty ? nil : notes.joined(separator: " ")
    }
}

extension TelemetryView {
    private static func row(_ operation: String, _ numbers: Telemetry.Operation, _ visit: Visit) -> Table.Row {
        func milliseconds(_ share: Double) -> String {
            numbers.latency.percentile(share).map { Duration.milliseconds($0).millisecondsText } ?? "–"
        }
        let isKnown = operation != Telemetry.unknown
        let name = isKnown ? operation : "no service"
        let errors = visit.place.link("requests", [("operation", operation), ("errors", "1")])
        /// The log has unknown operations under their paths, so there is no common filter.
        func failures(_ count: Int, _ what: String) -> Inline {
            if count == 0 { return "" }
            let text = Digits.grouped(count)
            return isKnown
                ? .link(text, errors, style: "bad", label: "\(text) \(what) \(name)") : Inline(text).styled("bad")
        }
        let slowest =
            numbers.latency.count == 0 ? "–" : Duration.milliseconds(numbers.latency.longest).millisecondsText
        let bounds = LatencyHistogram.bounds
        let steps = BarChart(
            numbers.latency.counts.map { (Double($0), 0) },
            label:
                "Distribution of response times, in steps from \(bounds.first?.description ?? "0") to \(bounds.last?.description ?? "0") ms: median \(milliseconds(0.5)) ms"
        )
        return Table.Row([
            isKnown ? .link(name, visit.place.link("requests", [("operation", operation)])) : Inline(name),
            Inline(Digits.grouped(numbers.count)), failures(numbers.errors, "failed"),
            failures(numbers.itemErrors.values.reduce(0, +), "failed items of"),
            "\(milliseconds(0.5)) ms", "\(milliseconds(0.95)) ms", "\(slowest) ms", .part(steps),
            Inline(numbers.records == 0 ? "" : Digits.grouped(numbers.records)),
            Inline(Digits.bytes(numbers.bytesIn)), Inline(Digits.bytes(numbers.bytesOut)),
        ])
    }
}

/// How much of the largest row a row of the storage table has: its fields, and its files after them.
private struct StorageMeter: Component {
    static let template = "storage_meter"

    let words: String
    /// In thousandths.
    let share: Int
    let assetShare: Int

    init(_ amount: RecordTotals, highest: Int64) {
        func share(_ bytes: Int64) -> Int { bytes <= 0 ? 0 : max(1, Int(Double(bytes) / Double(highest) * 1000)) }
        words =
            "\(Digits.bytes(amount.bytes)) of fields"
            + (amount.assetBytes == 0 ? "" : ", \(Digits.bytes(amount.assetBytes)) of files")
        (self.share, assetShare) = (share(amount.bytes), share(amount.assetBytes))
    }
}

// MARK: - Bar chart

/// A bar chart with a highlighted part in each bar.
struct BarChart: Component {
    static let template = "bar_chart"

    struct Bar: ViewModel {
        let x: Int
        let y: Int
        let height: Int
        /// The bad part, at the bottom of the bar.
        let badY: Int
        let badHeight: Int
        let hasBad: Bool

        func child(named name: String) -> Any? {
            switch name {
            case "x": x
            case "y": y
            case "height": height
            case "badY": badY
            case "badHeight": badHeight
            case "hasBad": hasBad
            default: nil
            }
        }
    }

    static let step = 10
    static let height = 80

    let label: String
    let width: Int
    let bars: [Bar]

    /// - Parameters:
    ///   - values: the values from left to right, each with its bad part.
    ///   - label: the accessible description of the chart.
    init(_ values: [(all: Double, bad: Double)], label: String) {
        let highest = max(values.map(\.all).max() ?? 0, .leastNonzeroMagnitude)
        func scaled(_ value: Double) -> Int {
            // A small value still gets a visible bar.
            value <= 0 ? 0 : max(2, Int((value / highest * Double(Self.height)).rounded()))
        }
        bars = values.enumerated().compactMap { index, value in
            guard value.all > 0 else { return nil }
            let (height, badHeight) = (scaled(value.all), min(scaled(value.bad), scaled(value.all)))
            return Bar(
                x: index * Self.step, y: Self.height - height, height: height, badY: Self.height - badHeight,
                badHeight: badHeight, hasBad: badHeight > 0)
        }
        width = values.count * Self.step
        self.label = label
    }
}

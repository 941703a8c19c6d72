internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Telemetry: request counts, errors, latency and storage.
package struct TelemetryView: Page {
    package static let template = "telemetry"
    package static let tab = Tab.telemetry

    /// The time span of the charts, in minutes.
    private static let minutes = 60
    /// The maximum number of zones with separate numbers.
    private static let zoneLimit = 50
    /// The maximum number of rows of the storage table.
    private static let rowLimit = 200

    struct Figure: ViewModel {
        let name: String
        let value: String
        let note: String?
    }

    struct OperationRow: ViewModel {
        let name: String
        let href: String?
        let count: String
        let errors: String?
        /// `nil` if the requests form can't filter by the operation.
        let errorsHref: String?
        let itemErrors: String?
        let median: String
        let slow: String
        let slowest: String
        let records: String
        let bytesIn: String
        let bytesOut: String
        let steps: BarChart
    }

    struct StorageRow: ViewModel {
        let zone: String
        let href: String
        let type: String
        let count: String
        let bytes: String
        let assetBytes: String?
        let words: String
        /// The sizes relative to the largest row, in thousandths: fields, and files after them.
        let share: Int
        let assetShare: Int
    }

    struct StorageSum: ViewModel {
        let count: String
        let bytes: String
        let assetBytes: String?
    }

    package let title = Self.tab.title
    /// True if request logging is off, so that there are no numbers.
    let isOff: Bool
    let figures: [Figure]
    let requests: BarChart?
    let latency: BarChart?
    let operations: [OperationRow]
    let storage: [StorageRow]
    let storageTitle: String
    let storageSum: StorageSum?
    let storageNote: String?
    let hasStorage: Bool
}

extension TelemetryView {
    package static func load(_ visit: Visit) async throws -> TelemetryView {
        let now = Timestamp.now()
        let telemetry = visit.log.telemetry
        let stored = try await stored(visit)
        let rows = stored.map { storage($0, visit) } ?? []
        let total = stored.map { $0.zones.reduce($0.othersTotal) { $0 + $1.total } }
        return TelemetryView(
            isOff: !visit.log.isOn, figures: figures(telemetry), requests: requests(telemetry, now),
            latency: latency(telemetry, now),
            operations: telemetry.operations.sorted { ($1.value.count, Name($0.key)) < ($0.value.count, Name($1.key)) }
                .map { OperationRow($0.key, $0.value, visit) },
            storage: Array(rows.prefix(rowLimit)),
            storageTitle: "Stored by \(visit.people.actor.displayName), \(visit.place.address.words)",
            storageSum: total.map { StorageSum($0) }, storageNote: stored.flatMap { storageNote($0, rows: rows.count) },
            hasStorage: stored != nil)
    }

    private static func figures(_ telemetry: Telemetry) -> [Figure] {
        let all = telemetry.operations.values
        let count = all.reduce(0) { $0 + $1.count }
        let errors = all.reduce(0) { $0 + $1.errors }
        let items = all.reduce(0) { $0 + $1.itemErrors.values.reduce(0, +) }
        return [
            Figure(name: "requests", value: Digits.grouped(count), note: nil),
            Figure(name: "failed", value: Digits.grouped(errors), note: share(errors, of: count)),
            Figure(name: "items that failed", value: Digits.grouped(items), note: "also in responses with status 200"),
            Figure(name: "in", value: Digits.bytes(all.reduce(0) { $0.addingSaturated($1.bytesIn) }), note: nil),
            Figure(
                name: "out", value: Digits.bytes(all.reduce(0) { $0.addingSaturated($1.bytesOut) }),
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

    private static func requests(_ telemetry: Telemetry, _ now: Timestamp) -> BarChart? {
        let hour = lastHour(telemetry, now)
        guard let highest = hour.compactMap({ $0?.requests }).max() else { return nil }
        let errors = hour.reduce(0) { $0 + ($1.map { $0.errors } ?? 0) }
        return BarChart(
            hour.map { (Double($0?.requests ?? 0), Double($0?.errors ?? 0)) },
            label:
                "Requests in each minute of the last hour: \(Digits.count(highest, "request")) at most, \(Digits.grouped(errors)) failed in total",
            top: "\(Digits.grouped(highest)) a minute", start: "an hour ago", end: "now")
    }

    private static func latency(_ telemetry: Telemetry, _ now: Timestamp) -> BarChart? {
        let means = lastHour(telemetry, now).map { minute in
            minute.map { $0.milliseconds / Double(max(1, $0.requests)) } ?? 0
        }
        guard let highest = means.max(), highest > 0 else { return nil }
        let text = "\(Duration.milliseconds(highest).millisecondsText) ms"
        return BarChart(
            means.map { ($0, 0) }, label: "Mean response time in each minute of the last hour: \(text) at most",
            top: text, start: "an hour ago",
            end: "now")
    }

    /// The storage of the database; `nil` if the engine does not measure it.
    private static func stored(_ visit: Visit) async throws -> DatabaseStorage? {
        guard visit.database.can(.measureStorage) else { return nil }
        return try await visit.measure { try await visit.database.require(.measureStorage).storage(limit: zoneLimit) }
    }

    /// The storage by zone and type, the largest first.
    private static func storage(_ stored: DatabaseStorage, _ visit: Visit) -> [StorageRow] {
        let parts = stored.zones.flatMap { zone in
            zone.types.map { (zoneID: zone.zoneID, type: $0.key, amount: $0.value) }
        }
        let highest = max(1, parts.map(\.amount.allBytes).max() ?? 1)
        return parts.sorted {
            ($1.amount.allBytes, $0.zoneID.zoneName, $0.type) < ($0.amount.allBytes, $1.zoneID.zoneName, $1.type)
        }
        .map { zoneID, type, amount in
            StorageRow(
                zone: visit.zoneName(zoneID), href: visit.place.inZone(zoneID).link("query", [("type", type.string)]),
                type: type.string, amount,
                highest: highest)
        }
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

extension TelemetryView.StorageRow {
    fileprivate init(zone: String, href: String, type: String, _ amount: RecordTotals, highest: Int64) {
        func share(_ bytes: Int64) -> Int { bytes <= 0 ? 0 : max(1, Int(Double(bytes) / Double(highest) * 1000)) }
        (self.zone, self.href, self.type) = (zone, href, type)
        count = Digits.grouped(amount.records)
        bytes = Digits.bytes(amount.bytes)
        assetBytes = amount.assetBytes == 0 ? nil : Digits.bytes(amount.assetBytes)
        words =
            "\(Digits.bytes(amount.bytes)) of fields"
            + (amount.assetBytes == 0 ? "" : ", \(Digits.bytes(amount.assetBytes)) of files")
        (self.share, assetShare) = (share(amount.bytes), share(amount.assetBytes))
    }
}

extension TelemetryView.StorageSum {
    fileprivate init(_ total: RecordTotals) {
        count = Digits.grouped(total.records)
        bytes = Digits.bytes(total.bytes)
        assetBytes = total.assetBytes == 0 ? nil : Digits.bytes(total.assetBytes)
    }
}

extension TelemetryView.OperationRow {
    fileprivate init(_ operation: String, _ numbers: Telemetry.Operation, _ visit: Visit) {
        func milliseconds(_ share: Double) -> String {
            numbers.latency.percentile(share).map { Duration.milliseconds($0).millisecondsText } ?? "–"
        }
        name = operation == Telemetry.unknown ? "no service" : operation
        href = operation == Telemetry.unknown ? nil : visit.place.link("requests", [("operation", operation)])
        count = Digits.grouped(numbers.count)
        errors = numbers.errors == 0 ? nil : Digits.grouped(numbers.errors)
        // The log has unknown operations under their paths, so there is no common filter.
        errorsHref =
            operation == Telemetry.unknown
            ? nil : visit.place.link("requests", [("operation", operation), ("errors", "1")])
        let failedItems = numbers.itemErrors.values.reduce(0, +)
        itemErrors = failedItems == 0 ? nil : Digits.grouped(failedItems)
        median = milliseconds(0.5)
        slow = milliseconds(0.95)
        slowest = numbers.latency.count == 0 ? "–" : Duration.milliseconds(numbers.latency.longest).millisecondsText
        records = numbers.records == 0 ? "" : Digits.grouped(numbers.records)
        bytesIn = Digits.bytes(numbers.bytesIn)
        bytesOut = Digits.bytes(numbers.bytesOut)
        let bounds = LatencyHistogram.bounds
        steps = BarChart(
            numbers.latency.counts.map { (Double($0), 0) },
            label:
                "Distribution of response times, in steps from \(bounds.first?.description ?? "0") to \(bounds.last?.description ?? "0") ms: median \(milliseconds(0.5)) ms",
            top: "", start: "", end: "")
    }
}

// MARK: - Bar chart

/// A bar chart with a highlighted part in each bar.
struct BarChart: ViewModel {
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
    /// The value of the highest bar.
    let top: String
    let start: String
    let end: String

    /// - Parameters:
    ///   - values: the values from left to right, each with its bad part.
    ///   - label: the accessible description of the chart.
    init(_ values: [(all: Double, bad: Double)], label: String, top: String, start: String, end: String) {
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
        self.top = top
        self.start = start
        self.end = end
    }
}

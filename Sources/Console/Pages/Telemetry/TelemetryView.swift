internal import Accounts
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The page Telemetry: how much is asked, how it goes, how long it takes, and how much is stored.
struct TelemetryView: Page {
    static let template = "telemetry"
    static let tab = Tab.telemetry

    /// Minutes in the charts.
    private static let minutes = 60
    /// Zones whose records are counted.
    private static let zoneLimit = 50

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
        /// `nil` where the form has no name for them.
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
        let words: String
        /// Of the largest, for a meter.
        let share: Int
    }

    let title = "Telemetry"
    /// Whether requests are not noted, so that there are no numbers.
    let isOff: Bool
    let figures: [Figure]
    let requests: BarChart?
    let latency: BarChart?
    let operations: [OperationRow]
    let storage: [StorageRow]
    let storageTitle: String
    let storageNote: String?
    let hasStorage: Bool
    let milliseconds: String
}

extension TelemetryView {
    static func load(_ visit: Visit, at now: Timestamp = .now()) async throws -> TelemetryView {
        let telemetry = visit.log.telemetry
        let storage = try await storage(visit)
        let left = visit.zones.count - zoneLimit
        return TelemetryView(
            isOff: !visit.log.isOn, figures: figures(telemetry), requests: requests(telemetry, now), latency: latency(telemetry, now),
            operations: telemetry.operations.sorted { ($1.value.count, Name($0.key)) < ($0.value.count, Name($1.key)) }.map { OperationRow($0.key, $0.value, visit) },
            storage: storage ?? [], storageTitle: "Records of \(visit.people.actor.displayName), \(visit.place.address.words)",
            storageNote: left > 0 ? "\(Digits.count(left, "more zone")) \(left == 1 ? "is" : "are") not counted here." : nil, hasStorage: storage != nil,
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func figures(_ telemetry: Telemetry) -> [Figure] {
        let all = telemetry.operations.values
        let count = all.reduce(0) { $0 + $1.count }
        let errors = all.reduce(0) { $0 + $1.errors }
        let items = all.reduce(0) { $0 + $1.itemErrors.values.reduce(0, +) }
        return [
            Figure(name: "requests", value: Digits.grouped(count), note: nil),
            Figure(name: "failed", value: Digits.grouped(errors), note: share(errors, of: count)),
            Figure(name: "items that failed", value: Digits.grouped(items), note: "in answers with status 200 too"),
            Figure(name: "in", value: Digits.bytes(all.reduce(0) { $0.addingSaturated($1.bytesIn) }), note: nil),
            Figure(name: "out", value: Digits.bytes(all.reduce(0) { $0.addingSaturated($1.bytesOut) }), note: "before compression"),
        ]
    }

    private static func share(_ part: Int, of all: Int) -> String? {
        all == 0 ? nil : "\(Digits.fixed(Double(part) / Double(all) * 100, 1)) %"
    }

    /// The minutes of the last hour, those without requests included.
    private static func lastHour(_ telemetry: Telemetry, _ now: Timestamp) -> [Telemetry.Minute?] {
        let current = now.milliseconds - now.milliseconds % 60_000
        let known = Dictionary(telemetry.minutes.map { ($0.start.milliseconds, $0) }, uniquingKeysWith: { first, _ in first })
        return (0..<Int64(minutes)).map { known[current - (Int64(minutes) - 1 - $0) * 60_000] }
    }

    private static func requests(_ telemetry: Telemetry, _ now: Timestamp) -> BarChart? {
        let hour = lastHour(telemetry, now)
        guard let highest = hour.compactMap({ $0?.requests }).max() else { return nil }
        let errors = hour.reduce(0) { $0 + ($1.map { $0.errors } ?? 0) }
        return BarChart(
            hour.map { (Double($0?.requests ?? 0), Double($0?.errors ?? 0)) },
            label: "Requests in each minute of the last hour: \(Digits.count(highest, "request")) at the most, \(Digits.grouped(errors)) failed in all",
            top: "\(Digits.grouped(highest)) a minute", start: "an hour ago", end: "now")
    }

    private static func latency(_ telemetry: Telemetry, _ now: Timestamp) -> BarChart? {
        let means = lastHour(telemetry, now).map { minute in minute.map { $0.milliseconds / Double(max(1, $0.requests)) } ?? 0 }
        guard let highest = means.max(), highest > 0 else { return nil }
        let text = "\(Duration.milliseconds(highest).millisecondsText) ms"
        return BarChart(
            means.map { ($0, 0) }, label: "Mean time of an answer in each minute of the last hour: \(text) at the most", top: text, start: "an hour ago",
            end: "now")
    }

    /// Records by zone and type, the most first; `nil` where the engine does not count.
    private static func storage(_ visit: Visit) async throws -> [StorageRow]? {
        guard visit.database is any RecordCounting else { return nil }
        var counted: [(zoneID: ZoneID, type: Name, count: Int)] = []
        for zone in visit.zones.prefix(zoneLimit) {
            guard let counts = try await visit.measure({ try await visit.counts(in: zone.zoneID) }) else { continue }
            counted += counts.records.filter { $0.value > 0 }.map { (zone.zoneID, $0.key, $0.value) }
        }
        let highest = max(1, counted.map(\.count).max() ?? 1)
        return counted.sorted { ($1.count, $0.zoneID.zoneName, $0.type) < ($0.count, $1.zoneID.zoneName, $1.type) }.map { zoneID, type, count in
            StorageRow(
                zone: visit.zoneName(zoneID), href: visit.place.inZone(zoneID).link("query", [("type", type.string)]), type: type.string,
                count: Digits.grouped(count), words: Digits.count(count, "record"), share: max(1, count * 1000 / highest))
        }
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
        // The log has these by their paths.
        errorsHref = operation == Telemetry.unknown ? nil : visit.place.link("requests", [("operation", operation), ("errors", "1")])
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
            label: "How many took how long, in steps from \(bounds.first?.description ?? "0") to \(bounds.last?.description ?? "0") ms: half within \(milliseconds(0.5)) ms",
            top: "", start: "", end: "")
    }
}

internal import RecordStore

/// The banner above every page while faults are injected, so that users don't mistake them for real errors.
struct FaultBanner: ViewModel {
    struct Item: ViewModel {
        let text: String
        let note: String
    }

    let items: [Item]
    /// A note about faults that the banner omits.
    let more: String?

    /// The maximum number of faults in the banner.
    private static let limit = 4

    /// - Returns: `nil` if no faults are active.
    init?(_ running: [ActiveFault]) {
        if running.isEmpty { return nil }
        items = running.prefix(Self.limit).map { running in
            Item(
                text: running.fault.title,
                note: [running.items?.description, running.remaining.map { Digits.count($0, "more time") }, running.area.description].compactMap(\.self).joined(separator: ", "))
        }
        more = running.count > Self.limit ? "and \(Digits.grouped(running.count - Self.limit)) more" : nil
    }
}

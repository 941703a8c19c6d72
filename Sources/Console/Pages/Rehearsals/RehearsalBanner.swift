internal import RecordStore

/// What stands above every page while something is rehearsed, so that nobody takes it for the server's own doing.
struct RehearsalBanner: ViewModel {
    struct Item: ViewModel {
        let text: String
        let note: String
    }

    let items: [Item]
    /// Said of those that are not listed.
    let more: String?

    /// Rehearsals listed.
    private static let limit = 4

    /// - Returns: `nil` when nothing is on.
    init?(_ running: [RunningRehearsal]) {
        if running.isEmpty { return nil }
        items = running.prefix(Self.limit).map { running in
            Item(
                text: running.rehearsal.title,
                note: [running.remaining.map { Digits.count($0, "more time") }, running.area.description].compactMap(\.self).joined(separator: ", "))
        }
        more = running.count > Self.limit ? "and \(Digits.grouped(running.count - Self.limit)) more" : nil
    }
}

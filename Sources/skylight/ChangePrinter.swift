import JSON
import Records

/// Prints changes and tokens, one per line.
struct ChangePrinter: Sendable {
    let asJSON: Bool

    /// - Parameter bar: the progress bar on the same terminal, which is cleared first.
    func say(_ changes: ChangeFeed.Changes, below bar: ProgressBar? = nil) throws {
        if changes.count == 0 { return }
        bar?.finish()
        var text: [UInt8] = []
        switch changes {
        case .records(let changes):
            for change in changes { text += try asJSON ? json(change) : Array(Self.line(change).utf8) + [UInt8(ascii: "\n")] }
        case .zones(let changes):
            for change in changes { text += asJSON ? json(change) : Array(Self.line(change).utf8) + [UInt8(ascii: "\n")] }
        }
        try OutputFile.standardOutput.write(text)
    }

    /// Prints the token to continue from.
    func say(_ token: ChangeToken) throws {
        if asJSON { return try sayOnly(token) }
        try OutputFile.standardOutput.write(Array("Token: \(token.text)\n".utf8))
    }

    /// Prints only the token.
    func sayOnly(_ token: ChangeToken) throws {
        var writer = JSONWriter()
        writer.object { $0.member("syncToken", token.text) }
        try OutputFile.standardOutput.write(asJSON ? writer.bytes + [UInt8(ascii: "\n")] : Array("\(token.text)\n".utf8))
    }

    private static func line(_ change: RecordChange) -> String {
        // A dash stands for what the store does not tell.
        let (kind, position) = (change.kind?.rawValue ?? "saved", change.position.map { String($0) } ?? "-")
        return "\(padded(kind, 9))  \(padded(position, 8))  \(change.record?.recordType ?? "-")  \(change.recordID.recordName)"
    }

    private static func line(_ change: ZoneChange) -> String {
        let owner = change.zoneID.ownerRecordName.map { "  \($0)" } ?? ""
        return "\(padded(change.kind.rawValue, 9))  \(change.zoneID.zoneName)\(owner)"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private func json(_ change: RecordChange) throws -> [UInt8] {
        var writer = JSONWriter(capacity: change.bytes + 512)
        try writer.value(change)
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    private func json(_ change: ZoneChange) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("change", change.kind.rawValue)
            writer.name("zoneID")
            writer.value(change.zoneID)
            if let timestamp = change.timestamp { writer.member("timestamp", timestamp.milliseconds) }
            if let token = change.syncToken { writer.member("syncToken", token.text) }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

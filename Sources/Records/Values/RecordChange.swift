/// The latest change of a record in its zone's feed.
public struct RecordChange: Sendable, Hashable {
    /// The kind of change since the pull began.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case created
        case modified
        case deleted
        /// The record was deleted and another one with the same name was created.
        case recreated
    }

    private enum Subject: Sendable, Hashable {
        case record(StoredRecord)
        case name(RecordID)
    }

    private var subject: Subject
    /// The kind of change; `nil` for a save if the store does not know whether it created the record.
    public var kind: Kind?
    /// The position in commit order, which increases within a zone, with gaps; `nil` if the store does not provide it.
    public var position: Int64?
    /// The ID of the changed record, even if only its name is known.
    public var recordID: RecordID {
        switch subject {
        case .record(let record): record.recordID
        case .name(let recordID): recordID
        }
    }

    /// The latest state of the record. For a deletion: name, type, user and time, without fields; `nil` if the store
    /// provides only the name of a deleted record.
    public var record: StoredRecord? {
        get { if case .record(let record) = subject { record } else { nil } }
        set { subject = newValue.map { .record($0) } ?? .name(recordID) }
    }

    /// The change of a record whose state is known.
    public init(kind: Kind?, position: Int64?, record: StoredRecord) {
        subject = .record(record)
        self.kind = kind
        self.position = position
    }

    /// The deletion of a record of which only the name is known.
    public init(deletionOf recordID: RecordID, position: Int64? = nil) {
        subject = .name(recordID)
        kind = .deleted
        self.position = position
    }

    /// Size of the record's fields in bytes.
    public var bytes: Int { if case .record(let record) = subject { record.fields.bytes.count } else { 0 } }

    /// True if the record may have an asset, as ``FieldsText/mayHoldAssets``.
    public var mayHoldAssets: Bool {
        if case .record(let record) = subject { record.fields.mayHoldAssets } else { false }
    }
}

// MARK: - JSON

extension JSONWriter {
    /// Writes a change with details that the protocol omits: its kind and position, and for a deletion the deleted
    /// record's type, the user and the time. Unknown details are left out.
    /// - Parameter downloadURL: returns the download URL of an asset; `nil` omits it.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public mutating func value(_ change: RecordChange, downloadURL: AssetAddress? = nil) throws {
        try object { writer in
            if let kind = change.kind { writer.member("change", kind.rawValue) }
            if let position = change.position { writer.member("position", position) }
            writer.name("record")
            if change.kind != .deleted, let record = change.record {
                try writer.value(record, downloadURL: downloadURL)
            } else {
                writer.deletion(change)
            }
        }
    }

    private mutating func deletion(_ change: RecordChange) {
        object { writer in
            writer.member("recordName", change.recordID.recordName)
            if let record = change.record {
                writer.member("recordType", record.recordType)
                writer.version(of: record, isDeleted: true)
            } else {
                writer.member("deleted", true)
                writer.name("zoneID")
                writer.value(change.recordID.zoneID)
            }
        }
    }
}

// MARK: - Tokens

/// A client's position in a change feed, exactly as the server sent it. Only the engine that issued it knows its
/// meaning.
public struct ChangeToken: Sendable, Hashable {
    /// The token as in requests and responses. Skylight's own tokens are URL-safe base64 without padding, which needs
    /// no escaping in URLs, forms and shells.
    public let text: String

    /// A token as a client sent it.
    public init(text: String) {
        self.text = text
    }

    /// A token of Skylight's own, from an engine's bytes.
    public init(bytes: [UInt8]) {
        text = Base64.text(of: bytes, forURLs: true)
    }

    /// The bytes encoded in the text; empty if it is not base64. No engine of Skylight accepts an empty token.
    public var bytes: [UInt8] { Base64.bytes(of: text.utf8) ?? [] }
}

/// Detects that the markers or tokens of a query's or feed's pages lead in a circle (Brent's algorithm).
///
/// Without it, a client of a faulty server would request pages forever.
public struct CycleDetector: Sendable {
    /// An earlier cursor, with which later ones are compared. It is replaced after 1, 2, 4, 8 and more pages, so that
    /// circles of any length are detected.
    private var landmark: String?
    private var latest: String?
    private var (steps, lap) = (0, 1)

    /// - Parameter start: the cursor of the first page; `nil` for the beginning.
    public init(from start: String?) {
        (landmark, latest) = (start, start)
    }

    /// Call it with the cursor of each next page.
    /// - Returns: true if the cursor leads back to an earlier page. Long circles are detected after a few rounds.
    public mutating func isClosed(by next: String) -> Bool {
        if next == landmark || next == latest { return true }
        latest = next
        steps += 1
        if steps == lap { (landmark, steps, lap) = (next, 0, lap &<< 1) }
        return false
    }
}

internal import Console
internal import RecordStore
internal import Records

/// How the records of an earlier state differ from those of now. Empty on a page of the present.
struct SinceThen {
    private var marks: [RecordID: RecordMark] = [:]

    /// - Parameter keys: the fields of the records that were read; `nil` for all.
    init(_ records: [StoredRecord], keys: Set<Name>? = nil, _ visit: Visit) async throws {
        guard visit.earlier != nil, !records.isEmpty else { return }
        let results = try await visit.measure {
            try await visit.present.fetch(records.map(\.recordID), desiredKeys: keys)
        }
        for (then, result) in zip(records, results) {
            switch result {
            case .success(let now) where now.recordChangeTag != then.recordChangeTag:
                marks[then.recordID] = RecordMark(try FieldDifference.since(then, now, visit).map(\.name))
            case .failure(let error) where error.code == .notFound || error.code == .zoneNotFound:
                marks[then.recordID] = .deleted
            default: break
            }
        }
    }

    /// - Returns: `nil` for a record that is the same now.
    subscript(recordID: RecordID) -> RecordMark? { marks[recordID] }
}

/// The mark of a record of an earlier state that is another one now.
struct RecordMark: ViewModel {
    let text: String
    /// `lacks` or `has`, the colours of pills.
    let tone: String

    static let deleted = RecordMark(text: "deleted since", tone: "lacks")
    /// The number of fields that a mark names.
    private static let named = 3

    private init(text: String, tone: String) { (self.text, self.tone) = (text, tone) }

    /// - Parameter fields: the fields whose values differ now.
    fileprivate init(_ fields: [String]) {
        let rest = fields.count - Self.named
        let names = fields.prefix(Self.named).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        self.init(text: fields.isEmpty ? "saved again since" : "older: \(names)", tone: "has")
    }

    func child(named name: String) -> Any? {
        switch name {
        case "text": text
        case "tone": tone
        default: nil
        }
    }
}

/// What became of one record since an earlier state, on its page.
struct RecordSince: ViewModel {
    let text: String
    /// From then to now.
    let differences: [FieldDifference]
    /// The page of the record as it is now.
    let now: String

    /// - Parameters:
    ///   - then: the record of the earlier state; `nil` if it had none of this name.
    ///   - isKnown: false if the earlier state of the record is not known.
    /// - Returns: `nil` on a page of the present.
    init?(_ then: StoredRecord?, isKnown: Bool, _ recordID: RecordID, _ visit: Visit) async throws {
        guard visit.earlier != nil else { return nil }
        now = visit.samePageNow
        let found = try await visit.measure { try await visit.present.fetch([recordID], desiredKeys: nil) }.first
        let record = try? found?.get()
        guard let then else {
            differences = []
            text =
                !isKnown
                ? "What the record was then is not known: it changed since, and its versions are no longer kept."
                : "The zone had no record with this name then"
                    + (record == nil
                        ? ", and has none now." : ". It was added since, so a client with this state lacks it.")
            return
        }
        guard let record else {
            (differences, text) = ([], "It was deleted since. A client with this state still has it.")
            return
        }
        differences = try FieldDifference.since(then, record, visit)
        text =
            then.recordChangeTag == record.recordChangeTag
            ? "It is the same now."
            : differences.isEmpty
                ? "It was saved again since, with the same values."
                : "\(Digits.count(differences.count, "field")) \(differences.count == 1 ? "differs" : "differ") now."
    }
}

extension FieldDifference {
    /// What differs between a record of an earlier state and the same one now.
    fileprivate static func since(_ then: StoredRecord, _ now: StoredRecord, _ visit: Visit) throws -> [FieldDifference]
    {
        all(
            from: try Version(then.fields, parent: then.parent), to: try Version(now.fields, parent: now.parent),
            ValuePresenter(place: visit.place, zoneID: then.recordID.zoneID, links: nil))
    }
}

internal import Accounts
internal import RecordStore
package import Records

/// The titles of a container's records: the value of the field that is chosen for their type, or else the text that
/// usually tells a record from others.
package struct RecordTitles: Sendable {
    private static let names = ["title", "name", "text", "subject"]
    /// The fields that may have a title, also as Core Data names them. The first one with a text counts.
    package static let usualFields = names.map { Name($0) } + names.map { MirroredNaming.field(of: $0) }
    /// The maximum length of a title, in characters.
    private static let length = 60

    /// The chosen fields, by type. An empty name means that the records of the type have no title.
    package let chosen: [Name: Name]

    package init(chosen: [Name: Name]) {
        self.chosen = chosen
    }

    /// The fields that may have the title of some record.
    package var fields: Set<Name> {
        Set(Self.usualFields).union(chosen.values.filter { !$0.isEmpty })
    }

    /// The fields that may have the title of a type's records, the first one with a value first.
    package func fields(of recordType: Name) -> [Name] {
        chosen[recordType].map { $0.isEmpty ? [] : [$0] } ?? Self.usualFields
    }

    /// - Returns: `nil` for a record without one.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    package func title(of record: StoredRecord) throws -> String? {
        try wholeTitle(of: record).map(Self.shortened)
    }

    /// The title of a record of a type with some values.
    package func title(of recordType: Name, _ values: [Name: FieldValue]) -> String? {
        wholeTitle(of: recordType, values).map(Self.shortened)
    }

    /// `General (Room/general)` in a sentence, or the name alone.
    package func words(for record: StoredRecord) throws -> String {
        try words(for: record.recordID.recordName, title: title(of: record))
    }

    package func words(for name: Name, title: String?) -> String {
        title.map { "\($0) (\(name))" } ?? name.string
    }

    /// The title of a record in full length.
    func wholeTitle(of record: StoredRecord) throws -> String? {
        let fields = fields(of: record.recordType)
        return fields.isEmpty ? nil : wholeTitle(of: record.recordType, try record.fields.values(of: Set(fields)))
    }

    private func wholeTitle(of recordType: Name, _ values: [Name: FieldValue]) -> String? {
        if let field = chosen[recordType] { return values[field].flatMap(Self.text) }
        // Only a text is a title that nobody has chosen.
        return Self.usualFields.lazy.compactMap { name -> String? in
            guard case .string(let text)? = values[name], !text.isEmpty else { return nil }
            return text
        }.first
    }

    /// True if values of the type can be titles.
    package static func canBeTitle(_ type: FieldType) -> Bool {
        !type.isList && [.string, .int64, .double, .timestamp].contains(type.valueType)
    }

    /// A value as a title, in full length.
    package static func text(of value: FieldValue) -> String? {
        switch value {
        case .string(let text): text.isEmpty ? nil : text
        case .int64(let integer): String(integer)
        case .double(let double): double.description
        case .timestamp(let timestamp): "\(timestamp.utcText) UTC"
        default: nil
        }
    }

    static func shortened(_ text: String) -> String {
        let beginning = text.prefix(length)
        return beginning.endIndex == text.endIndex ? text : "\(beginning)…"
    }
}

extension Visit {
    package var titles: RecordTitles { RecordTitles(chosen: accounts.titleFields(of: place.address.container)) }
}

// MARK: - References

/// The titles of the records that a page refers to. All of them are read at once, without their other fields.
package struct ReferencedTitles: Sendable {
    /// The maximum number of records of a read. Others are shown by their names.
    private static let limit = 200
    /// The maximum size of the fields of the read, in bytes.
    private static let bytesLimit = 1 << 20

    private var titles: [RecordID: String] = [:]

    /// - Parameters:
    ///   - recordIDs: the records that the page refers to.
    ///   - known: records that the page has read anyway.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields of a known record are damaged.
    package init(_ recordIDs: some Sequence<RecordID>, known: some Sequence<StoredRecord>, _ visit: Visit) async throws
    {
        let all = visit.titles
        var seen: Set<RecordID> = []
        for record in known {
            seen.insert(record.recordID)
            titles[record.recordID] = try all.title(of: record)
        }
        // A container in iCloud takes another request, which may be slow: its references stay names.
        guard visit.connection == nil else { return }
        let wanted = Array(recordIDs.lazy.filter { seen.insert($0).inserted }.prefix(Self.limit))
        if wanted.isEmpty { return }
        do {
            let found = try await visit.measure {
                try await visit.database.fetch(wanted, desiredKeys: all.fields, bytesLimit: Self.bytesLimit)
            }
            // A reference may leave out the owner of its zone, which the record's own name has.
            for case (let recordID, .success(let record)) in zip(wanted, found) {
                titles[recordID] = try all.title(of: record)
            }
        } catch is RecordError {
            // The page is complete without the titles of others. Its links have their names.
        }
    }

    /// - Parameter zoneID: the zone of the record that has the value. References without a zone lead to it.
    package subscript(reference: Reference, from zoneID: ZoneID) -> String? {
        titles[reference.target(from: zoneID)]
    }

    package subscript(recordID: RecordID) -> String? { titles[recordID] }
}

extension Reference {
    package func target(from zoneID: ZoneID) -> RecordID {
        RecordID(recordName: recordName, zoneID: self.zoneID ?? zoneID)
    }
}

extension FieldValue {
    /// The records that the value refers to, up to a number of list elements.
    package func targets(from zoneID: ZoneID, limit: Int = .max) -> [RecordID] {
        switch self {
        case .reference(let reference): [reference.target(from: zoneID)]
        case .list(let elements, .reference): elements.prefix(limit).flatMap { $0.targets(from: zoneID) }
        default: []
        }
    }
}

/// A record as a link: its title with the name beside it, or the name alone. The template `record_name` writes both.
package struct RecordLink: ViewModel {
    package let href: String
    package let recordName: String
    package let title: String?

    package init(href: String, recordName: String, title: String?) {
        (self.href, self.recordName, self.title) = (href, recordName, title)
    }

    package var inline: Inline {
        title.map { Inline(ValueView(.record(title: $0, name: recordName, href: href, hint: nil))) }
            ?? .link(recordName, href)
    }
}

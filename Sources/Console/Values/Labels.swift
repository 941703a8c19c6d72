internal import RecordStore
package import Records
package import RequestLog

// MARK: - Fields and indexes

extension FieldKey {
    /// The field name on pages, which is the name in the web services, such as `modifiedTimestamp`.
    package var label: Name {
        if case .system(let field) = self { field.alias } else { schemaName }
    }
}

extension FieldType {
    /// The name in the schema language, such as `LIST<ASSET>`. Pages mark encryption separately.
    package var label: String { FieldType(valueType, isList: isList).schemaName }
}

extension FieldValue {
    /// The ``FieldType/label`` of the type; `LIST` if an empty list has none.
    package var typeLabel: String { type?.label ?? "LIST" }
}

extension CompositeIndex {
    /// `author + sentAt`
    package var words: String { "\(filter.label) + \(sort.label)" }
}

extension QueryIndex {
    /// `author QUERYABLE`, `author + year`, `record names`.
    package var words: String {
        switch self {
        case .field(let key, let indexes): "\(key.label) \(indexes.names.joined(separator: " "))"
        case .composite(let index): index.words
        case .recordNames: "record names"
        }
    }
}

extension FieldDefinition {
    /// The field's line in a schema file.
    package func schemaLine(_ key: FieldKey, adding added: Indexes = []) -> String {
        "\(Schema.quoted(key.schemaName)) \(FieldDefinition(type: type, indexes: indexes.union(added)).schemaText)"
    }
}

// MARK: - Shares

extension Share {
    /// The right of a participant.
    package func right(of participant: ShareParticipant) -> String {
        switch participant.role {
        case .owner: "owner"
        case .administrator: "\(permission(of: participant).words), and manage the share"
        case .user: permission(of: participant).words
        case .publicUser: "\(publicPermission.words), by the link"
        }
    }

    /// The right that the link gives.
    package var linkRight: String {
        publicPermission == .none
            ? "only invited users can use the link" : "everybody with the link \(publicPermission.words)"
    }
}

extension SharePermission {
    package var words: String {
        switch self {
        case .none: "may do nothing"
        case .readOnly: "may read"
        case .readWrite: "may read and write"
        }
    }
}

extension ShareParticipant.Status {
    package var words: String {
        switch self {
        case .invited: "pending"
        case .accepted: "accepted"
        case .removed: "removed"
        }
    }

    /// The style of the words.
    package var tone: String {
        switch self {
        case .invited: "warn"
        case .accepted: "good"
        case .removed: "faint"
        }
    }
}

// MARK: - Signatures

extension Signature {
    /// The device that saved the record; `nil` if it is unknown or the server itself.
    package var device: String? { deviceID.isEmpty || deviceID == "iCloud" ? nil : deviceID }

    /// ` on phone`, to append to the user's name; empty if the device is unknown.
    package var onDevice: String { device.map { " on \($0)" } ?? "" }
}

// MARK: - Requests

extension RequestLog {
    /// The value of the field `errors` of the page Requests for those that the sidebar counts: errors of apps in the
    /// last hour.
    package static let recentErrors = "recent"
}

extension ServedRequest {
    /// The colour of the status.
    package var tone: String {
        status >= 400 || status == 0 ? "bad" : itemErrors.isEmpty && !isBrokenOff ? "good" : "warn"
    }

    /// The status, or a note that there was no answer.
    package var statusWords: String {
        status == 0 ? "no response" : isBrokenOff ? "\(status), incomplete" : String(status)
    }

    /// `CONFLICT`, `2 items CONFLICT`, `3 items failed`; `nil` if nothing failed.
    package var errorWords: String? {
        if let error { return error.code.rawValue }
        guard let first = itemErrors.first else { return nil }
        let isOne = itemErrors.allSatisfy { $0.code == first.code }
        return "\(Digits.count(itemErrors.count, "item")) \(isOne ? first.code.rawValue : "failed")"
    }
}

extension ClientIdentity {
    /// Details of the client beyond its label.
    package var details: String? {
        userAgent.flatMap { label.utf8.elementsEqual($0.utf8) ? nil : $0 }
    }
}

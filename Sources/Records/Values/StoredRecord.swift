/// A stored record: its system fields, and its custom fields as the JSON text created when it was saved.
///
/// Reading copies that text. It is decoded only if a value is needed.
public struct StoredRecord: Sendable, Hashable {
    /// Unique in its database.
    public var recordID: RecordID
    /// The type of the record, such as `Item`.
    public var recordType: Name
    /// Changes with each save: a short lowercase number in base 36. Compare it only for equality.
    public var recordChangeTag: String
    /// The user who created the record, and the time.
    public var created: Signature
    /// The user who last saved the record, and the time.
    public var modified: Signature
    /// The parent record in the same zone, with which this one is shared.
    public var parent: Name?
    /// The custom fields that have a value.
    public var fields: FieldsText
    /// `nil` for a record that is neither shared nor a share.
    public var sharing: RecordSharing?

    /// Creates a record as contained in a store.
    public init(
        recordID: RecordID, recordType: Name, recordChangeTag: String, created: Signature, modified: Signature,
        parent: Name? = nil,
        fields: FieldsText, sharing: RecordSharing? = nil
    ) {
        self.recordID = recordID
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.created = created
        self.modified = modified
        self.parent = parent
        self.fields = fields
        self.sharing = sharing
    }
}

/// Identifies a record: its name is unique within a zone across all types.
public struct RecordID: Sendable, Hashable {
    /// Maximum length of a record name in UTF-8 bytes.
    public static let nameLimit = 255

    /// The name, at most ``nameLimit`` bytes.
    public var recordName: Name
    /// The zone of the record.
    public var zoneID: ZoneID

    /// The ID of a record, which need not exist. The default zone is used unless another one is specified.
    public init(recordName: Name, zoneID: ZoneID = .default) {
        self.recordName = recordName
        self.zoneID = zoneID
    }
}

/// The user, time and device of a change.
public struct Signature: Sendable, Hashable {
    /// The server's time of the change.
    public var timestamp: Timestamp
    /// The name of the user's user record.
    public var userRecordName: Name
    /// The device as named by its client; `iCloud` if unknown.
    public var deviceID: String

    /// The signature of a change.
    public init(timestamp: Timestamp, userRecordName: Name, deviceID: String) {
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.deviceID = deviceID
    }
}

// MARK: - JSON

// JSON form of a record in responses (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    /// Writes a record. Its stored fields are copied, except for added download URLs of assets and for numbers
    /// requested as strings.
    /// - Parameters:
    ///   - downloadURL: returns the download URL of an asset; `nil` omits it.
    ///   - viewer: the user who reads the record, whose own participant in a share is written separately; `nil` for
    ///     none.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public mutating func value(
        _ record: StoredRecord, numbersAsStrings: Bool = false, downloadURL: AssetAddress? = nil,
        for viewer: Name? = nil
    ) throws {
        try object { writer in
            writer.member("recordName", record.recordID.recordName)
            writer.member("recordType", record.recordType)
            writer.name("fields")
            if numbersAsStrings {
                try writer.numbersAsStrings(record.fields, downloadURL)
            } else {
                let fields = try record.fields.spelledAsAnswered()
                if let downloadURL, fields.mayHoldAssets {
                    try writer.text(fields.withDownloadURLs(downloadURL).bytes)
                } else {
                    writer.text(fields.bytes)
                }
            }
            writer.name("pluginFields")
            writer.object { _ in }
            writer.version(of: record, isDeleted: false)
            if let sharing = record.sharing { writer.members(of: sharing, in: record.recordID.zoneID, for: viewer) }
        }
    }

    /// Writes the members that a record and its deletion have in common: the tag, the signatures, the zone and the
    /// parent.
    mutating func version(of record: StoredRecord, isDeleted: Bool) {
        member("recordChangeTag", record.recordChangeTag)
        name("created")
        value(record.created)
        name("modified")
        value(record.modified)
        member("deleted", isDeleted)
        name("zoneID")
        value(record.recordID.zoneID)
        guard let parent = record.parent else { return }
        name("parent")
        object { $0.member("recordName", parent) }
    }

    private mutating func numbersAsStrings(_ fields: FieldsText, _ downloadURL: AssetAddress?) throws {
        let decoded = try fields.decoded()
        object { writer in
            for field in decoded {
                writer.name(field.name)
                writer.value(field, numbersAsStrings: true, downloadURL: downloadURL)
            }
        }
    }

    /// Writes the user, time and device of a change.
    public mutating func value(_ signature: Signature) {
        object { writer in
            writer.member("timestamp", signature.timestamp.milliseconds)
            writer.member("userRecordName", signature.userRecordName)
            writer.member("deviceID", signature.deviceID)
        }
    }
}

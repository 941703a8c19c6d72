public import CloudKitClient
internal import Foundation
public import Records

/// A record that a program reads and changes: a struct that remembers what was changed since it was fetched.
///
/// `StoredRecord` of Records is the record that a server stores, and `ReceivedRecord` of CloudKitClient the one in an
/// answer. Neither can be edited and saved.
public struct Record: Sendable, Hashable {
    /// The name and zone of the record. They never change.
    public let recordID: RecordID
    /// The type of the record. It never changes.
    public let recordType: Name
    /// The record's version, which changes with each save; `nil` for a record that was never saved.
    public internal(set) var recordChangeTag: String?
    /// The user and time of the first save; `nil` before it.
    public internal(set) var created: ReceivedSignature?
    /// The user and time of the latest save; `nil` before the first save.
    public internal(set) var modified: ReceivedSignature?
    /// The ID of the record's share; `nil` if the record is not shared.
    var shareID: RecordID?
    /// A reference to the record's share; `nil` if the record is not shared.
    public var share: Reference? { shareID.map { Reference(recordID: $0, action: .none) } }
    /// The contents of the fields by key. A record that was fetched with `desiredKeys` only has these keys.
    public private(set) var fields: [Name: FieldContent] = [:]
    /// The name of the parent, a record in the same zone. A share of the parent includes this record.
    public var parent: Name? {
        get { parentID?.recordName }
        set { parentID = newValue.map { RecordID(recordName: $0, zoneID: recordID.zoneID) } }
    }
    /// The ID of the parent. One in another zone is kept, so that the save can refuse it.
    private(set) var parentID: RecordID? {
        didSet { if parentID != oldValue, replacedParent == nil { replacedParent = .some(oldValue) } }
    }

    /// The participants and permissions of a share; `nil` for other records. The owner comes first.
    public var sharing: Share? {
        didSet { if sharing != oldValue, replacedSharing == nil { replacedSharing = .some(oldValue) } }
    }
    /// The identifier in the link of the record's share, or of this share; `nil` if the record was never shared.
    public internal(set) var shortGUID: String?

    /// The contents before the changes, by key.
    private var replaced: [Name: FieldContent?] = [:]
    /// The parent before it was changed; `nil` if it was not changed.
    private(set) var replacedParent: RecordID??
    var parentHasChanged: Bool { replacedParent != nil }
    /// The participants and permissions before ``sharing`` was changed; `nil` if it was not changed.
    private(set) var replacedSharing: Share??

    /// Creates a record that was never saved.
    public init(recordType: Name, recordID: RecordID) {
        self.recordID = recordID
        self.recordType = recordType
    }

    /// Creates a record that was never saved, with a new UUID as its name.
    public init(recordType: Name, in zoneID: ZoneID = .default) {
        self.init(recordType: recordType, recordID: RecordID(recordName: Name(UUID().uuidString), zoneID: zoneID))
    }

    /// Creates a record from an answer.
    /// - Returns: `nil` if the answer does not contain the record's type.
    public init?(_ received: ReceivedRecord) {
        guard let recordType = received.recordType else { return nil }
        recordID = received.recordID
        self.recordType = recordType
        fields = received.fields.compactMapValues { FieldContent($0) }
        takeSystemFields(of: received)
        parent = received.parent
        sharing = received.sharing?.share
        (replacedParent, replacedSharing) = (nil, nil)
    }

    /// The keys that were set since the record was fetched or saved, even to an equal value.
    public var changedKeys: Set<Name> { Set(replaced.keys) }

    /// True if the record has changes to save.
    public var hasChanges: Bool {
        !replaced.isEmpty || parentHasChanged || replacedSharing != nil || recordChangeTag == nil
    }

    /// The record without its changes, as it was fetched or saved.
    public var withoutChanges: Record {
        var record = self
        for (key, content) in replaced { record.fields[key] = content }
        record.replaced = [:]
        if let replacedParent { record.parentID = replacedParent }
        if let replacedSharing { record.sharing = replacedSharing }
        (record.replacedParent, record.replacedSharing) = (nil, nil)
        return record
    }

    /// The content of a key; `nil` for none. Setting it is a change, even if the value is equal.
    public subscript(content key: Name) -> FieldContent? {
        get { fields[key] }
        set {
            if replaced[key] == nil { replaced.updateValue(fields[key], forKey: key) }
            fields[key] = newValue
        }
    }

    /// The value of a key as a Swift type; `nil` if the key has no value, or a value of another type. Setting a value
    /// keeps an encrypted key encrypted.
    public subscript<Value: RecordValue>(key: Name) -> Value? {
        get { fields[key].flatMap { Value.read($0) } }
        set { set(newValue?.fieldContent, for: key) }
    }

    /// The value of a key, to cast to its type: `String`, `Date`, `Data`, `Location`, `Reference`, ``AssetFile``, any type
    /// of numbers, or an array of one of these; `nil` for none. A number can be cast to each type that has exactly this
    /// number; 0 and 1 also to `Bool`. Setting a value keeps an encrypted key encrypted.
    public subscript(key: Name) -> (any RecordValue)? {
        get { fields[key].flatMap(\.recordValue) }
        set { set(newValue?.fieldContent, for: key) }
    }

    private mutating func set(_ content: FieldContent?, for key: Name) {
        self[content: key] = keepingEncryption(of: key, content)
    }

    /// The content for a key, encrypted if that of the key is, or was on the server before the app removed it.
    func keepingEncryption(of key: Name, _ content: FieldContent?) -> FieldContent? {
        (fields[key] ?? replaced[key] ?? nil)?.isEncrypted == true ? content?.encrypted : content
    }

    /// The value of a key that the server encrypts. Queries cannot use encrypted keys. Files and references cannot be
    /// encrypted.
    public subscript<Value: RecordValue>(encrypted key: Name) -> Value? {
        get { self[key] }
        set { self[content: key] = newValue?.fieldContent.encrypted }
    }

    /// Sets the parent by its ID, as `setParent` with a record does; `nil` removes the parent.
    public mutating func setParent(_ newID: RecordID?) {
        if let newID, !newID.zoneID.isSame(as: recordID.zoneID) { parentID = newID } else { parent = newID?.recordName }
    }

    // MARK: For saves

    /// The record after the server saved its changes.
    func saved(as received: ReceivedRecord) -> Record {
        var record = self
        record.takeSystemFields(of: received)
        record.sharing = received.sharing?.share ?? sharing
        // Only Skylight returns the root of a share.
        if record.sharing?.rootName == nil { record.sharing?.rootName = sharing?.rootName }
        record.replaced = [:]
        (record.replacedParent, record.replacedSharing) = (nil, nil)
        return record
    }

    /// The server's version of the record after some keys were saved. These keys keep their local contents, because
    /// files have a local path.
    func found(as server: Record, keys: Set<Name>) -> Record {
        var record = server
        for key in keys { record.fields[key] = fields[key] }
        if let sharing, record.sharing != nil, record.sharing?.rootName == nil {
            record.sharing?.rootName = sharing.rootName
            record.replacedSharing = nil
        }
        return record
    }

    /// The record with an uploaded file. This does not count as a change.
    func uploading(_ content: FieldContent, for key: Name) -> Record {
        var record = self
        record.fields[key] = content
        return record
    }

    private mutating func takeSystemFields(of received: ReceivedRecord) {
        recordChangeTag = received.recordChangeTag
        created = received.created ?? created
        modified = received.modified ?? modified
        shareID = received.share ?? shareID
        shortGUID = received.shortGUID ?? shortGUID
    }
}

extension Record {
    /// Restores the changes of a stored record from its JSON.
    mutating func restoreChanges(
        _ keys: Set<Name> = [], of earlier: [Name: FieldContent] = [:], parent: RecordID??, sharing: Share??
    ) {
        replaced = [:]
        for key in keys { replaced.updateValue(earlier[key], forKey: key) }
        (replacedParent, replacedSharing) = (parent, sharing)
    }

    /// The contents before the changes, for keys that had one.
    var contentsBefore: [Name: FieldContent] { replaced.compactMapValues { $0 } }

    mutating func restore(_ content: FieldContent, for key: Name) {
        fields[key] = content
    }
}

extension Record {
    /// Returns whether another version has the same contents of some keys, and the same parent and participants if
    /// those were changed.
    func isContained(in other: Record, keys: Set<Name>) -> Bool {
        guard !parentHasChanged || parent == other.parent else { return false }
        if replacedSharing != nil || recordChangeTag == nil, let sharing {
            guard let theirs = other.sharing, theirs.publicPermission == sharing.publicPermission else { return false }
            // The server adds the owner and the identities of users.
            func rights(_ share: Share) -> Set<String> {
                Set(share.participants.filter { $0.role != .owner }.map { "\($0.participantID) \($0.permission)" })
            }
            guard rights(theirs) == rights(sharing) else { return false }
        }
        return keys.allSatisfy { key in
            let theirs = other.fields[key]?.value
            guard let mine = fields[key] else { return theirs == nil }
            // A file that was not uploaded cannot be in another version.
            guard let value = mine.value else { return false }
            // The server does not store an empty list.
            return theirs.map { $0.isSame(as: value) } ?? value.elements.isEmpty
        }
    }
}

extension Record {
    /// The error for what no server or file can keep: an empty name, a parent in another zone, a file that is not on
    /// this machine, or a number that JSON cannot represent; `nil` if there is none.
    var unwritable: OperationError? {
        let names: KeyValuePairs<String, Name> = [
            "name": recordID.recordName, "type": recordType, "zone": recordID.zoneID.zoneName,
        ]
        if let (what, _) = names.first(where: { $0.value.isEmpty }) {
            return OperationError(.invalidArguments, "The \(what) of the record '\(recordID.recordName)' is empty")
        }
        if let parentID, parentID.zoneID != recordID.zoneID {
            return OperationError(
                .invalidArguments,
                "The parent '\(parentID.recordName)' of the record '\(recordID.recordName)' is in another zone, "
                    + "'\(parentID.zoneID.zoneName)': a parent is in the zone of its record. Refer to it with a field")
        }
        let remote = fields.first { $0.value.files.contains { $0.asset == nil && $0.fileURL?.isFileURL == false } }
        if let key = remote?.key {
            return OperationError(
                .assetFileNotFound, "The file in '\(key)' is not on this machine: its URL has to begin with 'file:'")
        }
        return fields.first { $0.value.value?.isWritable == false }.map { key, _ in
            OperationError(.invalidArguments, "The number in '\(key)' is infinite, or none at all")
        }
    }
}

extension Query {
    /// The error for a number that JSON cannot represent; `nil` if there is none.
    var unwritable: OperationError? {
        let filter = filters.first { filter in
            switch filter.value {
            case _ where filter.distance?.isFinite == false: true
            case .tagged(let value, _, _), .untagged(let value, _): !value.isWritable
            case .cleared: false
            }
        }
        let sort = sorts.first { $0.relativeLocation.map { !FieldValue.location($0).isWritable } ?? false }
        return (filter?.fieldName ?? sort?.fieldName).map { key in
            OperationError(.invalidArguments, "The number that '\(key)' is compared with is infinite, or none at all")
        }
    }
}

extension FieldContent? {
    /// Returns whether a server stores the same for both: it adds the zone to references, and stores no empty list.
    func isSame(as other: FieldContent?) -> Bool {
        guard let mine = self, let theirs = other else {
            return (self ?? other).map { $0.value?.elements.isEmpty == true } ?? true
        }
        guard mine.isEncrypted == theirs.isEncrypted, let value = mine.value, let theirValue = theirs.value else {
            return mine == theirs
        }
        return theirValue.isSame(as: value)
    }
}

extension FieldValue {
    /// False for a number that JSON cannot represent, alone, in a location or in a list.
    var isWritable: Bool {
        switch self {
        case .double(let number): number.isFinite
        case .location(let place):
            [
                place.latitude, place.longitude, place.horizontalAccuracy ?? 0, place.verticalAccuracy ?? 0,
                place.altitude ?? 0, place.speed ?? 0, place.course ?? 0,
            ]
            .allSatisfy { $0.isFinite }
        case .list(let elements, _): elements.allSatisfy { $0.isWritable }
        default: true
        }
    }

    /// Returns whether the server's value is the one that was sent. The server adds the zone to references, and members
    /// to assets.
    func isSame(as sent: FieldValue) -> Bool {
        switch (self, sent) {
        case (.reference(let left), .reference(let right)):
            left.recordName == right.recordName && left.action == right.action
                && left.zoneID.flatMap { zoneID in right.zoneID.map { $0.isSame(as: zoneID) } } ?? true
        case (.asset(let left), .asset(let right)): left.fileChecksum == right.fileChecksum && left.size == right.size
        case (.list(let left, _), .list(let right, _)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        default: self == sent
        }
    }
}

// MARK: - Sharing

// A share is a record of the type `cloudkit.share` (CKShare). ``Record/sharing`` has its participants and permissions.

extension Record {
    /// Creates a share of a record and all records below it. Save it together with the record, or later.
    /// - Parameter root: a record in a custom zone of the private database.
    public init(sharing root: Record) {
        let recordName = "Share-\(UUID().uuidString)"
        self.init(rootRecord: root, shareID: RecordID(recordName: recordName, zoneID: root.recordID.zoneID))
    }

    /// Creates a share of a whole custom zone of the private database.
    public init(sharing zoneID: ZoneID) {
        self.init(recordType: Share.recordType, recordID: RecordID(recordName: Share.zoneWideName, zoneID: zoneID))
        sharing = Share(rootName: nil, shortGUID: "", participants: [])
    }

    /// True if the record is a share.
    public var isShare: Bool { recordType == Share.recordType }

    /// The title of a share, which invited users see.
    public var shareTitle: String? {
        get { self["cloudkit.title"] }
        set { self["cloudkit.title"] = newValue }
    }
}

extension Share {
    /// Invites a user. A user who is already a participant gets the new permission.
    public mutating func addParticipant(_ participant: ShareParticipant) {
        if let place = participants.firstIndex(where: {
            $0.lookupInfo.matches(participant.lookupInfo) || $0.isSameUser(participant)
        }) {
            participants[place].permission = participant.permission
        } else {
            participants.append(participant)
        }
    }

    /// Removes a participant. The owner cannot be removed.
    public mutating func removeParticipant(_ participant: ShareParticipant) {
        participants.removeAll { $0.role != .owner && $0.participantID == participant.participantID }
    }
}

extension ShareParticipant {
    fileprivate func isSameUser(_ other: ShareParticipant) -> Bool {
        userRecordName != nil && userRecordName == other.userRecordName
    }
}

/// The metadata of a share that a link opens, and the user's role in it (CKShare.Metadata).
public struct ShareMetadata: Sendable {
    /// The identifier in the link.
    public let shortGUID: String
    /// The identifier of the share's container; `nil` if the server does not report it.
    public let containerIdentifier: String?
    /// The user's database with the shared records: private for the owner, and shared for others after they accepted.
    public let databaseScope: DatabaseScope
    /// The share, with the participants that the user may see.
    public let share: Record
    /// The ID of the root record; `nil` if the share is of a whole zone.
    public let rootRecordID: RecordID?
    /// The root record; `nil` if it was not requested, or the user may not see it.
    public let rootRecord: Record?
    /// The owner, with what the server reports about them; `nil` if it reports nothing.
    public let ownerIdentity: ReceivedUser?
    /// The user's role in the share.
    public let participantRole: ShareParticipant.Role
    /// Whether the user is invited, has accepted or was removed.
    public let participantStatus: ShareParticipant.Status
    /// The user's permission.
    public let participantPermission: SharePermission

    /// - Throws: ``OperationError`` if the answer does not contain the record's type.
    init(_ received: ReceivedShareMetadata) throws(OperationError) {
        let scope = received.databaseScope ?? .shared
        func record(_ received: ReceivedRecord) throws(OperationError) -> Record {
            try scope.record(.success(received)).get()
        }
        shortGUID = received.shortGUID
        containerIdentifier = received.containerIdentifier
        databaseScope = scope
        share = try record(received.share)
        rootRecordID = received.rootRecordName.map { [zoneID = share.recordID.zoneID] in
            RecordID(recordName: $0, zoneID: zoneID)
        }
        rootRecord = if let root = received.rootRecord { try record(root) } else { nil }
        ownerIdentity = received.owner
        participantRole = received.participantType ?? .publicUser
        participantStatus = received.participantStatus ?? .invited
        participantPermission = received.participantPermission ?? .none
    }
}

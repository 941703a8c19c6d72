// JSON form of shares (Apple's reference page "Types and Dictionaries", and what live servers send).

extension JSONWriter {
    /// Writes the sharing members of a record in a response.
    /// - Parameter viewer: the user who reads the record, whose own participant is written separately; `nil` for none.
    mutating func members(of sharing: RecordSharing, in zoneID: ZoneID, for viewer: Name?) {
        members(of: sharing, in: zoneID)
        guard let share = sharing.share else { return }
        if let owner = share.owner {
            name("owner")
            value(owner)
        }
        if let viewer, let own = share.participant(viewer) {
            name("currentUserParticipant")
            value(own)
        }
    }

    /// Writes all sharing members that a copy of a record needs. ``RecordSharing/init(_:)`` reads them.
    /// - Parameter zoneID: the zone of the record; `nil` to omit it.
    public mutating func members(of sharing: RecordSharing, in zoneID: ZoneID? = nil) {
        if let shortGUID = sharing.share?.shortGUID ?? sharing.shortGUID { member("shortGUID", shortGUID) }
        if let shareName = sharing.shareName {
            name("share")
            object { writer in
                writer.member("recordName", shareName)
                guard let zoneID else { return }
                writer.name("zoneID")
                writer.value(zoneID)
            }
        }
        guard let share = sharing.share else { return }
        member("publicPermission", share.publicPermission.rawValue)
        member("participants", values: share.participants) { $0.value($1) }
        if let root = share.rootName { member("rootRecordName", root) }
    }

    /// Writes the members of a share in a request.
    public mutating func members(of input: ShareInput) {
        if let root = input.root {
            name("forRecord")
            object { writer in
                writer.member("recordName", root.recordName)
                if let zoneID = root.zoneID {
                    writer.name("zoneID")
                    writer.value(zoneID)
                }
                if let tag = root.recordChangeTag { writer.member("recordChangeTag", tag) }
            }
        }
        if let permission = input.publicPermission { member("publicPermission", permission.rawValue) }
        guard let participants = input.participants else { return }
        member("participants", values: participants) { $0.value($1) }
    }

    /// Writes a participant in the format of responses, with `userIdentity`, `type`, `acceptanceStatus` and
    /// `permission`.
    public mutating func value(_ participant: ShareParticipant) {
        object { writer in writer.members(of: participant) }
    }

    private mutating func members(of participant: ShareParticipant) {
        member("participantId", participant.participantID)
        name("userIdentity")
        object { writer in
            if let name = participant.userRecordName { writer.member("userRecordName", name) }
            writer.name("nameComponents")
            writer.object { _ in }
            writer.name("lookupInfo")
            writer.object { writer in
                if let address = participant.lookupInfo.emailAddress { writer.member("emailAddress", address) }
                if let number = participant.lookupInfo.phoneNumber { writer.member("phoneNumber", number) }
                if let name = participant.lookupInfo.userRecordName { writer.member("userRecordName", name) }
            }
        }
        member("type", participant.role.rawValue)
        member("acceptanceStatus", participant.status.rawValue)
        member("permission", participant.permission.rawValue)
        if let accepted = participant.accepted { member("acceptedTimestamp", accepted.milliseconds) }
    }
}

extension RecordSharing {
    /// The text to store, without the hierarchy; `nil` if nothing but the hierarchy is set.
    public var storedText: [UInt8]? {
        if shortGUID == nil, shareName == nil, share == nil { return nil }
        var writer = JSONWriter()
        writer.object { $0.members(of: self) }
        return writer.bytes
    }

    /// Reads stored text.
    /// - Throws: `RecordError` INTERNAL_ERROR if the text is damaged.
    public static func stored(_ text: [UInt8], hierarchy: Int64?) throws -> RecordSharing {
        guard case .object(let members)? = try? JSONReader.value(of: text), let sharing = try? RecordSharing(members)
        else {
            throw RecordError(.internalError, "The stored sharing of a record is damaged")
        }
        return RecordSharing(
            shortGUID: sharing.shortGUID, shareName: sharing.shareName, share: sharing.share, hierarchy: hierarchy)
    }

    /// Reads the sharing members of a record. Other members are ignored.
    /// - Returns: `nil` for a record that is neither shared nor a share.
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public convenience init?(_ members: JSONObject) throws {
        let shortGUID: String? = if case .string(let text)? = members["shortGUID"] { text } else { nil }
        let shareName: Name? =
            if case .object(let share)? = members["share"], case .string(let name)? = share["recordName"] {
                Name(name)
            } else { nil }
        let share = try Share(members, shortGUID: shortGUID ?? "")
        if shortGUID == nil, shareName == nil, share == nil { return nil }
        self.init(shortGUID: shortGUID, shareName: shareName, share: share)
    }
}

extension Share {
    fileprivate init?(_ members: JSONObject, shortGUID: String) throws {
        guard case .array(let participants)? = members["participants"] else { return nil }
        let root: Name? = if case .string(let name)? = members["rootRecordName"] { Name(name) } else { nil }
        self.init(
            rootName: root, shortGUID: shortGUID,
            publicPermission: try SharePermission(members["publicPermission"] ?? .null, member: "publicPermission"),
            participants: try participants.map { try ShareParticipant($0) })
        // Earlier versions stored another permission for public users, which never applied.
        alignPublicUsers()
    }
}

extension SharePermission {
    /// Parses a permission in a request.
    /// - Throws: `RecordError` BAD_REQUEST with the permitted values.
    public init(_ json: JSONValue, member: Name) throws {
        guard case .string(let text) = json, let permission = Self(rawValue: text) else {
            throw RecordError.unexpectedInput(
                "Expected '\(member)' to be one of " + Self.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self = permission
    }
}

extension ShareParticipant {
    /// Parses a participant in a request. The type PRIVATE_USER means USER, and the status PENDING means INVITED.
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ json: JSONValue) throws {
        guard case .object(let object) = json else {
            throw RecordError.unexpectedInput("Expected each of 'participants' to be an object, found \(json.kind)")
        }
        func text(_ name: Name) throws -> String? {
            switch object[name] {
            case nil, .null?: return nil
            case .string(let text)?: return text
            case .some(let other):
                throw RecordError.unexpectedInput(
                    "Expected '\(name)' of a participant to be a string, found \(other.kind)")
            }
        }
        self.init(participantID: try text("participantId") ?? text("participantID") ?? "")
        switch try text("type") {
        case nil, "PRIVATE_USER"?, "UNKNOWN"?: role = .user
        case let name?:
            guard let known = Role(rawValue: name) else {
                throw RecordError.unexpectedInput(
                    "Unknown type '\(name)' of a participant; known are "
                        + Role.allCases.map(\.rawValue).joined(separator: ", "))
            }
            role = known
        }
        switch try text("acceptanceStatus") {
        case nil, "PENDING"?, "UNKNOWN"?: status = .invited
        case let name?:
            guard let known = Status(rawValue: name) else {
                throw RecordError.unexpectedInput(
                    "Unknown acceptanceStatus '\(name)' of a participant; known are "
                        + Status.allCases.map(\.rawValue).joined(separator: ", "))
            }
            status = known
        }
        if let json = object["permission"], json != .null {
            permission = try SharePermission(json, member: "permission")
        }
        if case .integer(let milliseconds)? = object["acceptedTimestamp"] {
            accepted = Timestamp(milliseconds: milliseconds)
        }
        guard case .object(let identity)? = object["userIdentity"] else { return }
        if case .string(let name)? = identity["userRecordName"], !name.isEmpty { userRecordName = Name(name) }
        guard case .object(let info)? = identity["lookupInfo"] else { return }
        if case .string(let address)? = info["emailAddress"], !address.isEmpty { lookupInfo.emailAddress = address }
        if case .string(let number)? = info["phoneNumber"], !number.isEmpty { lookupInfo.phoneNumber = number }
        if case .string(let name)? = info["userRecordName"], !name.isEmpty { lookupInfo.userRecordName = Name(name) }
    }
}

public import JSON

// JSON form of shares (Apple's reference page "Types and Dictionaries", and what live servers send).

extension JSONWriter {
    /// Writes the members of a share at the top level of its record.
    /// - Parameter viewer: the user who reads the share; `nil` for nobody in particular.
    public mutating func members(of share: Share, for viewer: Name?) {
        member("shortGUID", share.shortGUID)
        member("publicPermission", share.publicPermission.rawValue)
        name("participants")
        array { writer in
            for participant in share.participants { writer.value(participant) }
        }
        if let owner = share.owner {
            name("owner")
            value(owner)
        }
        if let viewer, let own = share.participant(viewer) {
            name("currentUserParticipant")
            value(own)
        }
    }

    /// Writes what a request says about a share.
    public mutating func members(of input: ShareInput) {
        if let root = input.root {
            name("forRecord")
            object { writer in
                writer.member("recordName", root.recordName)
                if let tag = root.recordChangeTag { writer.member("recordChangeTag", tag) }
            }
        }
        if let permission = input.publicPermission { member("publicPermission", permission.rawValue) }
        guard let participants = input.participants else { return }
        name("participants")
        array { writer in
            for participant in participants { writer.value(participant) }
        }
    }

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
    }
}

extension RecordSharing {
    /// The text for a store, without the hierarchy. It has more than answers have: the root of a share, and when users accepted.
    public var storedText: [UInt8]? {
        if shortGUID == nil, shareName == nil, share == nil { return nil }
        var writer = JSONWriter()
        writer.object { writer in
            if let shareName { writer.member("share", shareName) }
            guard let share else {
                if let shortGUID { writer.member("shortGUID", shortGUID) }
                return
            }
            writer.members(of: share, for: nil)
            if let root = share.rootName { writer.member("root", root) }
            writer.name("accepted")
            writer.array { writer in
                for participant in share.participants {
                    if let moment = participant.accepted { writer.value(moment.milliseconds) } else { writer.null() }
                }
            }
        }
        return writer.bytes
    }

    /// Reads the text of a store.
    /// - Throws: `RecordError` INTERNAL_ERROR if the text is damaged.
    public convenience init(storedText: [UInt8]?, hierarchy: Int64?) throws {
        guard let storedText else {
            self.init(hierarchy: hierarchy)
            return
        }
        let damage = RecordError(.internalError, "What is stored about the sharing of a record is damaged")
        let json: JSONValue
        do { json = try JSONReader.value(of: storedText) } catch { throw damage }
        guard case .object(let object) = json else { throw damage }
        let shareName: Name? = if case .string(let name)? = object["share"] { Name(name) } else { nil }
        guard case .string(let shortGUID)? = object["shortGUID"] else { throw damage }
        guard case .array(let participants)? = object["participants"] else {
            self.init(shortGUID: shortGUID, shareName: shareName, hierarchy: hierarchy)
            return
        }
        guard case .array(let moments)? = object["accepted"], moments.count == participants.count,
            case .string(let permission)? = object["publicPermission"], let permission = SharePermission(rawValue: permission)
        else { throw damage }
        var share = Share(rootName: nil, shortGUID: shortGUID, publicPermission: permission, participants: [])
        if case .string(let root)? = object["root"] { share.rootName = Name(root) }
        share.participants = try zip(participants, moments).map { json, moment in
            var participant = try ShareParticipant(json)
            if case .integer(let milliseconds) = moment { participant.accepted = Timestamp(milliseconds: milliseconds) }
            return participant
        }
        self.init(shortGUID: shortGUID, shareName: shareName, share: share, hierarchy: hierarchy)
    }
}

extension SharePermission {
    /// Parses a permission in a request.
    /// - Throws: `RecordError` BAD_REQUEST with the known ones.
    public init(_ json: JSONValue, member: Name) throws {
        guard case .string(let text) = json, let permission = Self(rawValue: text) else {
            throw RecordError.unexpectedInput("Expected '\(member)' to be one of " + Self.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self = permission
    }
}

extension ShareParticipant {
    /// Parses a participant in a request. The type PRIVATE_USER is USER, the status PENDING is INVITED.
    /// - Throws: `RecordError` BAD_REQUEST with the member.
    public init(_ json: JSONValue) throws {
        guard case .object(let object) = json else {
            throw RecordError.unexpectedInput("Expected each of 'participants' to be an object, found \(json.kind)")
        }
        func text(_ name: Name) throws -> String? {
            switch object[name] {
            case nil, .null?: return nil
            case .string(let text)?: return text
            case .some(let other): throw RecordError.unexpectedInput("Expected '\(name)' of a participant to be a string, found \(other.kind)")
            }
        }
        self.init(participantID: try text("participantId") ?? text("participantID") ?? "")
        switch try text("type") {
        case nil, "PRIVATE_USER"?, "UNKNOWN"?: role = .user
        case let name?:
            guard let known = Role(rawValue: name) else {
                throw RecordError.unexpectedInput(
                    "Unknown type '\(name)' of a participant; known are " + Role.allCases.map(\.rawValue).joined(separator: ", "))
            }
            role = known
        }
        switch try text("acceptanceStatus") {
        case nil, "PENDING"?, "UNKNOWN"?: status = .invited
        case let name?:
            guard let known = Status(rawValue: name) else {
                throw RecordError.unexpectedInput(
                    "Unknown acceptanceStatus '\(name)' of a participant; known are " + Status.allCases.map(\.rawValue).joined(separator: ", "))
            }
            status = known
        }
        if let json = object["permission"], json != .null { permission = try SharePermission(json, member: "permission") }
        guard case .object(let identity)? = object["userIdentity"] else { return }
        if case .string(let name)? = identity["userRecordName"], !name.isEmpty { userRecordName = Name(name) }
        guard case .object(let info)? = identity["lookupInfo"] else { return }
        if case .string(let address)? = info["emailAddress"], !address.isEmpty { lookupInfo.emailAddress = address }
        if case .string(let number)? = info["phoneNumber"], !number.isEmpty { lookupInfo.phoneNumber = number }
        if case .string(let name)? = info["userRecordName"], !name.isEmpty { lookupInfo.userRecordName = Name(name) }
    }
}

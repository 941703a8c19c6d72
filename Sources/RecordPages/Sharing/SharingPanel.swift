internal import Accounts
internal import Console
internal import RecordStore
internal import Records

/// The panel 'Shared' of a record's page: who sees the record, and through which share.
struct SharingPanel: ViewModel {
    struct ShareSource: ViewModel {
        /// The beginning of the reason: `A child of`.
        let reason: String
        /// The root of the share, unless it is the record itself.
        let root: Frame.Link?
        /// The record that holds the share, with the title.
        let share: Frame.Link
        /// The records between the root and this one, from the top.
        let path: [Frame.Link]
        let link: ShareLink
        let people: [SharePerson]
        let manage: String
        /// For the owner.
        let stop: String?
        /// For guests.
        let leave: String?
    }

    /// `nil` if nobody else sees the record.
    let through: ShareSource?
    /// The form that shares the record with the records below it; `nil` if that is not possible.
    let make: String?

    /// The maximum number of parents in the path.
    private static let pathLimit = 20

    /// - Returns: `nil` for records that can't be shared, or for a guest who is losing the record.
    static func load(_ record: StoredRecord, _ visit: Visit) async throws -> SharingPanel? {
        guard visit.database.can(.listShares), visit.hasFeed(record.recordID.zoneID) else { return nil }
        let isOwner = visit.place.address.scope == .private
        let name = record.recordID.recordName
        let share = try await visit.measure { try await visit.database.share(showing: record) }
        guard let share else {
            return isOwner ? SharingPanel(through: nil, make: visit.place.link("share", [("name", name.string)])) : nil
        }
        let path = try await path(from: record, to: share, visit)
        // A record below a root may have a share of its own, which cuts its part out. A zone that is shared as a whole
        // has no other share.
        let canBeRoot =
            isOwner && share.rootName != nil && share.rootName != name && share.record.recordID.recordName != name
        return SharingPanel(
            through: ShareSource(share, of: record, path: path, isOwner: isOwner, visit),
            make: canBeRoot ? visit.place.link("share", [("name", name.string)]) : nil)
    }

    /// The names of the records between the record and the root, from the top.
    private static func path(from record: StoredRecord, to share: ZoneShare, _ visit: Visit) async throws -> [Name] {
        guard let root = share.rootName, record.recordID.recordName != root else { return [] }
        var path: [Name] = []
        var next = record.parent
        while let name = next, name != root, path.count < pathLimit {
            path.append(name)
            do {
                next = try await RecordView.record(name, in: record.recordID.zoneID, visit: visit).parent
            } catch is RecordError { next = nil }
        }
        return path.reversed()
    }
}

extension SharingPanel.ShareSource {
    fileprivate init(_ found: ZoneShare, of record: StoredRecord, path: [Name], isOwner: Bool, _ visit: Visit) {
        func link(_ name: Name, _ text: String? = nil) -> Frame.Link {
            Frame.Link(text: text ?? name.string, href: visit.place.link(toRecord: name, in: record.recordID.zoneID))
        }
        let name = record.recordID.recordName
        let isShareItself = name == found.record.recordID.recordName
        switch found.rootName {
        case nil:
            reason =
                isShareItself ? "This record shares the whole zone:" : "In a zone that is shared as a whole, through"
        case name: reason = "The root of the share"
        default: reason = isShareItself ? "This record shares" : path.isEmpty ? "A child of" : "Below"
        }
        root = found.rootName.flatMap { $0 == name ? nil : link($0) }
        share = link(found.record.recordID.recordName, "“\(found.title)”")
        self.path = path.map { link($0) }
        self.link = ShareLink(found.share, title: found.title, server: visit.server)
        people = found.share.participants.map { SharePerson($0, of: found, visit.accounts, in: visit.place.address) }
        let parameters = found.rootName.map { [(name: "name", value: $0.string)] } ?? []
        manage = visit.place.link("share", parameters)
        stop = isOwner ? visit.place.link("share/stop", parameters) : nil
        leave = isOwner ? nil : visit.place.link("share/leave", parameters)
    }
}

// MARK: - Participants

/// A participant of a share.
struct SharePerson: ViewModel {
    let name: String
    /// The invited address, or the handle if it differs from the name.
    let detail: String?
    let right: String
    let status: String
    let tone: String
    /// When the invitation was accepted.
    let since: ValueView?
    /// The zone as this user sees it; `nil` for users who do not take part.
    let view: String?

    init(_ participant: ShareParticipant, of share: ZoneShare, _ accounts: Accounts, in address: DatabaseAddress) {
        let info = participant.lookupInfo
        let user = accounts.user(participant)
        let given = info.emailAddress ?? info.phoneNumber
        let shown =
            user?.displayName ?? given ?? (participant.userRecordName ?? info.userRecordName)?.string ?? "somebody"
        name = shown
        detail = (given ?? user?.handle).flatMap { $0.lowercased() == shown.lowercased() ? nil : $0 }
        right = share.share.right(of: participant)
        status = participant.role == .owner ? "shares it" : participant.status.words
        tone = participant.status.tone
        since = participant.accepted.map { ValueView(.time($0)) }
        view =
            participant.status == .accepted ? user.map { Place(of: share, in: address, seenBy: $0).link("query") } : nil
    }
}

extension Accounts {
    /// The user who takes part, or whom an invitation names.
    func user(_ participant: ShareParticipant) -> User? {
        let info = participant.lookupInfo
        return (participant.userRecordName ?? info.userRecordName).flatMap { user(recordName: $0) }
            ?? info.emailAddress.flatMap { user(emailAddress: $0) }
    }

    /// The user with a handle, a user record name or an e-mail address.
    func user(named name: String) -> User? {
        user(handle: name) ?? user(recordName: Name(name)) ?? user(emailAddress: name)
    }
}

extension Place {
    /// The zone of a share as a user sees it: the owner in the private database, guests in the shared one.
    init(of share: ZoneShare, in address: DatabaseAddress, seenBy user: User) {
        let owner = share.share.owner?.userRecordName
        let isOwner = user.userRecordName == owner
        self.init(
            address: DatabaseAddress(
                container: address.container, environment: address.environment, scope: isOwner ? .private : .shared),
            user: user.handle == User.developerHandle ? nil : user.handle,
            zone: .one(ZoneID(zoneName: share.zoneID.zoneName, ownerRecordName: isOwner ? nil : owner)))
    }
}

// MARK: - Code

extension CodePanel {
    /// The save of a share.
    init(savingShare operation: RecordOperation, in zoneID: ZoneID, visit: Visit) {
        let writer = CodeWriter(visit.place, zoneID: zoneID, server: visit.server)
        let subject = "The save of the share"
        let json = Self.json(of: operation)
        self.init(
            title: "This save as a request",
            samples: [
                writer.javaScript(
                    of: subject,
                    """
                    const records = [\(RecordJSON.laidOut(json))]
                    const response = await database.saveRecords(records\(writer.javaScriptOptions))
                    if (response.hasErrors) throw response.errors[0]
                    for (const share of response.records) console.log(share.shortGUID, share.participants)
                    """),
                writer.modification(operation.kind.rawValue, json, of: subject),
            ])
    }

    private static func json(of operation: RecordOperation) -> JSONValue {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("recordType", Share.recordType)
            if let name = operation.recordName { writer.member("recordName", name) }
            if let tag = operation.recordChangeTag { writer.member("recordChangeTag", tag) }
            writer.members(of: operation.share)
            writer.name("fields")
            writer.object { writer in
                for (name, input) in operation.fields {
                    writer.name(name)
                    writer.object { writer in
                        writer.name("value")
                        if case .tagged(.string(let text), _, _) = input { writer.value(text) } else { writer.null() }
                    }
                }
            }
        }
        // The writer's own output always parses.
        return (try? JSONReader.value(of: writer.bytes)) ?? .object(JSONObject())
    }
}

internal import Accounts
internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The facts that decide if a user other than the owner gets a record.
struct SharingFacts: Sendable {
    /// The way from a record up through its parents.
    struct Chain: Sendable, Hashable {
        enum End: Sendable, Hashable {
            /// The last record has no parent.
            case noParent
            /// The last record has a parent that does not exist.
            case missing(Name)
            /// The last record is shared, with all records below it.
            case shared
            /// The last record is below itself.
            case circle
            /// There are more records.
            case tooLong
        }

        /// The record comes first.
        var names: [Name]
        var end: End

        /// `milk, list, kitchen`
        var text: String { names.map(\.string).joined(separator: ", ") }
    }

    /// A request for another zone of the same name.
    struct MisdirectedRequest: Sendable, Hashable {
        let scope: DatabaseScope
        /// The owner in the request.
        let owner: Name?
        let source: Delivery.Source
    }

    /// The user's clients see the record.
    var isSeen: Bool
    /// The share through which guests see the record; `nil` for none.
    var share: Share?
    /// `nil` if the record is part of a share, or the zone has no share at all.
    var chain: Chain?
    /// The part of the user in the share; `nil` for users who were not invited.
    var participant: ShareParticipant?
    /// The zone was in the user's shared database and is not any more.
    var wasGuest = false
    /// A request that used the link in vain.
    var refusedLink: Delivery.Source?
    /// The latest such request, if the client never named the right zone.
    var misdirected: MisdirectedRequest?
    /// A request that failed to save or delete the record for lack of rights.
    var refusedWrite: Delivery.Source?
}

/// The reason in sharing why a user does not get a record, or can't change it.
enum SharingReason: Sendable, Hashable {
    /// The zone has no share at all.
    case notShared
    /// The record is no root of a share and has no parent.
    case noParent
    case parentOutside(SharingFacts.Chain)
    case parentMissing(Name, SharingFacts.Chain)
    case parentsInACircle(SharingFacts.Chain)
    case tooManyParents
    /// The records are being moved.
    case notMovedYet
    case notAccepted
    case notJoined
    case left
    case removed
    case linkClosed(Delivery.Source)
    case notInvited
    case otherDatabase(SharingFacts.MisdirectedRequest)
    case otherOwner(SharingFacts.MisdirectedRequest)
    case readOnly(Delivery.Source)

    /// - Returns: `nil` if sharing is not the reason.
    init?(_ facts: SharingFacts) {
        guard let share = facts.share else {
            if facts.isSeen { return nil }
            self = Self.outside(facts.chain)
            return
        }
        // Without a right, nobody is invited or takes part.
        switch facts.participant.flatMap({
            $0.status == .removed || share.permission(of: $0) != .none ? $0.status : nil
        }) {
        case .invited?: self = .notAccepted
        case .removed?: self = .left
        case nil:
            if share.publicPermission != .none {
                self = .notJoined
            } else if let source = facts.refusedLink {
                self = .linkClosed(source)
            } else {
                self = facts.wasGuest ? .removed : .notInvited
            }
        case .accepted?:
            if let misdirected = facts.misdirected {
                self = misdirected.scope == .shared ? .otherOwner(misdirected) : .otherDatabase(misdirected)
            } else if !facts.isSeen {
                self = .notMovedYet
            } else if let source = facts.refusedWrite, let participant = facts.participant,
                share.permission(of: participant) != .readWrite
            {
                self = .readOnly(source)
            } else {
                return nil
            }
        }
    }

    /// The reason for a record that no guest sees.
    private static func outside(_ chain: SharingFacts.Chain?) -> SharingReason {
        guard let chain else { return .notShared }
        switch chain.end {
        case .noParent: return chain.names.count == 1 ? .noParent : .parentOutside(chain)
        case .missing(let name): return .parentMissing(name, chain)
        case .shared: return .notMovedYet
        case .circle: return .parentsInACircle(chain)
        case .tooLong: return .tooManyParents
        }
    }
}

// MARK: - Words

extension SharingReason {
    /// The names that sentences and links use.
    struct Subject {
        let recordName: Name
        let zoneID: ZoneID
        let user: String
        let owner: String
        let ownerRecordName: Name
        /// The record that holds the share through which guests see the record.
        let shareName: Name?
        /// The owner's private database.
        let place: Place
    }

    /// The reason, its remedy, and a link to where the remedy begins.
    func explanation(_ subject: Subject) -> Explanation {
        let (user, owner, zone) = (subject.user, subject.owner, subject.zoneID.zoneName)
        func no(_ text: String, _ advice: String, _ next: Frame.Link?) -> Explanation {
            Explanation(verdict: "no", tone: "deleted", text: text, advice: advice, next: next)
        }
        func link(_ text: String, _ name: Name?) -> Frame.Link? {
            name.map { Frame.Link(text: text, href: subject.place.link(toRecord: $0, in: subject.zoneID)) }
        }
        let edit = Frame.Link(
            text: "Edit the record",
            href: subject.place.inZone(subject.zoneID).link("record/edit", [("name", subject.recordName.string)]))
        let share = link("See the share", subject.shareName)
        let open = "\(user) must open the link of the share; its app then sends records/accept."
        let invite = "Invite \(user), or set publicPermission to READ_ONLY or READ_WRITE."
        switch self {
        case .notShared:
            return no(
                "The zone has no share, so only \(owner) sees it.", "Share the record, a record above it, or the zone.",
                link("See the record", subject.recordName))
        case .noParent:
            return no(
                "The record is in no share: it has no parent, and is not shared itself.",
                "Save it with a parent that is shared, directly or through its own parents.", edit)
        case .parentOutside(let chain):
            return no(
                "The record is in no share, and no record above it is: \(chain.text).",
                "Share one of them, or save the record with a parent that is shared.",
                link("See the record at the top", chain.names.last))
        case .parentMissing(let missing, let chain):
            return no(
                "The chain of parents breaks: \(chain.text), and then \(missing), which does not exist.",
                "Restore \(missing), or save the record below it with another parent.",
                link("See what \(missing) was", missing))
        case .parentsInACircle(let chain):
            let again = subject.recordName == chain.names.last ? "itself" : "one of them"
            return no(
                "The chain of parents is a circle: \(chain.text), and then \(again) again.",
                "Save one of them with another parent.", edit)
        case .tooManyParents:
            return no(
                "The record has more than \(SharingReader.chainLimit) records above it, and none of the nearest is "
                    + "shared.", "Save it with a parent that is shared.", edit)
        case .notMovedYet:
            return no(
                "The server is still moving the records of the share in or out.",
                "The client gets it with a later pull.", nil)
        case .notAccepted: return no("\(user) was invited and has not accepted.", open, share)
        case .notJoined:
            return no("Everybody with the link may take part, but \(user) has not accepted.", open, share)
        case .left: return no("\(user) has left the share.", "Invite \(user) again.", share)
        case .removed:
            return no("\(user) was a guest of the zone, until \(owner) ended it.", "Invite \(user) again.", share)
        case .linkClosed:
            return no(
                "\(user) is not invited, and the link is closed to others. It was refused in", invite, share)
        case .notInvited:
            return no(
                "\(user) is not a participant of the share: never invited, or removed by \(owner).", invite, share)
        case .otherDatabase(let misdirected):
            return no(
                "\(user) has accepted, but the client asks the \(misdirected.scope.rawValue) database for zone "
                    + "\(zone), which is another one:",
                "It must ask the shared database, with ownerRecordName \(subject.ownerRecordName) in the zoneID.",
                share)
        case .otherOwner(let misdirected):
            let asked = misdirected.owner.map { "of \($0)" } ?? "without ownerRecordName"
            return no(
                "\(user) has accepted, but the client asks for zone \(zone) \(asked):",
                "Its zoneID needs ownerRecordName \(subject.ownerRecordName). changes/database of the shared database "
                    + "tells it.", share)
        case .readOnly:
            return no(
                "A change of the record was refused, because \(user) may only read it:",
                "Give \(user) the permission READ_WRITE.", share)
        }
    }

    /// True if the user sees the record, and only can't change it.
    var isOfWriting: Bool {
        if case .readOnly = self { true } else { false }
    }

    /// The request that shows the reason.
    var source: Delivery.Source? {
        switch self {
        case .linkClosed(let source), .readOnly(let source): source
        case .otherDatabase(let misdirected), .otherOwner(let misdirected): misdirected.source
        default: nil
        }
    }
}

// MARK: - Search for the facts

/// Gathers what decides if other users get a record: the shares of its zone, its parents, and the requests of their
/// clients.
struct SharingReader {
    /// The maximum number of shares of a zone to read.
    private static let shareLimit = 200
    /// The maximum number of records above a record to read.
    static let chainLimit = 100
    /// The maximum number of pages of a user's zones to search for one that is gone.
    private static let zonePageLimit = 5

    /// The requests of a client for a zone.
    struct Trace {
        var namedTheZone = false
        var misdirected: SharingFacts.MisdirectedRequest?
        var refusedWrite: Delivery.Source?
        var refusedLink: Delivery.Source?
    }

    /// The record and its zone as the owner names them.
    let record: StoredRecord
    let owner: Name
    let address: DatabaseAddress
    /// The shares of the zone, and the one through which guests see the record.
    let shares: [Share]
    let share: ZoneShare?
    let traces: [ClientOfUser: Trace]
    private let chain: SharingFacts.Chain?
    private let tokens: TokenReader
    private let people: People

    var zoneName: Name { record.recordID.zoneID.zoneName }

    /// - Parameter record: the record as its owner or a guest sees it.
    init(_ record: StoredRecord, owner: Name, tokens: TokenReader, visit: Visit) async throws {
        var owned = record
        owned.recordID.zoneID = ZoneID(zoneName: record.recordID.zoneID.zoneName)
        let record = owned
        self.record = record
        self.owner = owner
        self.tokens = tokens
        people = visit.people
        address = visit.place.address
        let database = try await tokens.ownersDatabase(of: owner, at: visit.place.address)
        var shares: [ZoneShare] = []
        var share: ZoneShare?
        if database.can(.listShares) {
            shares = try await visit.measure {
                try await database.require(.listShares).shares(
                    in: record.recordID.zoneID, after: nil, limit: Self.shareLimit)
            }
            share = try await visit.measure { try await database.share(showing: record) }
        }
        self.shares = shares.map(\.share)
        self.share = share
        let hierarchies = Set(shares.map(\.hierarchy))
        chain =
            share != nil || shares.isEmpty
            ? nil : try await visit.measure { try await Self.chain(of: record, below: hierarchies, in: database) }
        traces = visit.log.traces(
            of: record.recordID, owner: owner, link: share?.share.shortGUID, in: visit.place.address)
    }

    /// Follows the parents of a record.
    /// - Parameter hierarchies: those of the shares of the zone.
    private static func chain(of record: StoredRecord, below hierarchies: Set<Int64>, in database: any RecordDatabase)
        async throws -> SharingFacts.Chain
    {
        var chain = SharingFacts.Chain(names: [record.recordID.recordName], end: .noParent)
        var next = record.parent
        while let name = next {
            if chain.names.contains(name) { return SharingFacts.Chain(names: chain.names, end: .circle) }
            if chain.names.count > chainLimit { return SharingFacts.Chain(names: chain.names, end: .tooLong) }
            let parentID = RecordID(recordName: name, zoneID: record.recordID.zoneID)
            let parent: StoredRecord
            switch try await database.fetch([parentID], desiredKeys: []).first {
            case .success(let found)?: parent = found
            case .failure(let error)? where error.code != .notFound: throw error
            case .failure?, nil: return SharingFacts.Chain(names: chain.names, end: .missing(name))
            }
            chain.names.append(name)
            if let hierarchy = parent.sharing?.hierarchy, hierarchies.contains(hierarchy) {
                return SharingFacts.Chain(names: chain.names, end: .shared)
            }
            next = parent.parent
        }
        return chain
    }

    /// The position of the record in the feed of a user; `nil` for users who do not see it.
    func position(for user: Name) async throws -> RecordPosition? {
        if user == owner {
            return try await tokens.ownersDatabase(of: owner, at: address).require(.positionRecords).position(
                of: record.recordID)
        }
        do {
            return try await shared(of: user).require(.positionRecords).position(
                of: RecordID(recordName: record.recordID.recordName, zoneID: guestsZoneID))
        } catch let error as RecordError where error.code == .zoneNotFound || error.code == .zoneBusy {
            return nil
        }
    }

    /// The users who could expect the record: the participants of its share; without one, the guests of the other
    /// shares of the zone.
    var expectants: [ShareParticipant] {
        let all = share?.share.participants ?? shares.flatMap(\.participants).filter { $0.status == .accepted }
        return all.filter { $0.role != .owner }
    }

    /// True for users who were ever invited to a share of the zone, as far as the shares tell.
    func isParticipant(_ user: Name) -> Bool { shares.contains { $0.part(of: user, addresses(of: user)) != nil } }

    /// - Parameter client: the client; `nil` for a user without one.
    func facts(_ user: Name, _ client: ClientOfUser?, isSeen: Bool) async throws -> SharingFacts {
        let participant = share?.share.part(of: user, addresses(of: user))
        let trace = client.flatMap { traces[$0] }
        let wasGuest = share != nil && participant == nil ? try await wasGuest(user) : false
        return SharingFacts(
            isSeen: isSeen, share: share?.share, chain: chain, participant: participant, wasGuest: wasGuest,
            refusedLink: trace?.refusedLink, misdirected: trace?.namedTheZone ?? true ? nil : trace?.misdirected,
            refusedWrite: trace?.refusedWrite)
    }

    /// True if the user's shared database reports the zone as deleted.
    private func wasGuest(_ user: Name) async throws -> Bool {
        let database = try await shared(of: user)
        var request = DatabaseChangesRequest(includesGoneZones: true)
        for _ in 0..<Self.zonePageLimit {
            let page = try await database.databaseChanges(request)
            if page.changes.contains(where: { $0.zoneID == guestsZoneID && $0.kind == .deleted }) { return true }
            if !page.moreComing { return false }
            request.since = page.syncToken
        }
        return false
    }

    private var guestsZoneID: ZoneID { ZoneID(zoneName: zoneName, ownerRecordName: owner) }

    private func shared(of user: Name) async throws -> any RecordDatabase {
        var address = address
        address.scope = .shared
        return try await tokens.database(address, of: user)
    }

    /// The addresses by which a user may be invited.
    private func addresses(of user: Name) -> LookupInfo {
        LookupInfo(emailAddress: people.user(user)?.emailAddress, userRecordName: user)
    }
}

extension TokenReader {
    /// The private database of a zone's owner.
    func ownersDatabase(of owner: Name, at address: DatabaseAddress) async throws -> any RecordDatabase {
        var address = address
        address.scope = .private
        return try await database(address, of: owner)
    }

    /// A record of another user's zone, as its owner sees it; `nil` if there is none.
    func ownersRecord(_ recordID: RecordID, of owner: Name, at address: DatabaseAddress) async throws -> StoredRecord? {
        guard address.scope == .shared else { return nil }
        let theirs = RecordID(recordName: recordID.recordName, zoneID: ZoneID(zoneName: recordID.zoneID.zoneName))
        switch try await ownersDatabase(of: owner, at: address).fetch([theirs], desiredKeys: nil).first {
        case .success(let record)?: return record
        case .failure(let error)? where error.code != .notFound && error.code != .zoneNotFound: throw error
        case .failure?, nil: return nil
        }
    }
}

extension Share {
    /// The part of a user, who may have been invited by an address. An ended part counts only if there is no other.
    fileprivate func part(of user: Name, _ addresses: LookupInfo) -> ShareParticipant? {
        let parts = participants.filter { $0.userRecordName.map { $0 == user } ?? $0.lookupInfo.matches(addresses) }
        return parts.first { $0.status != .removed } ?? parts.last
    }
}

extension RequestLog {
    /// The requests of clients for the zone of a record, or zones of its name, in one search of the log.
    /// - Parameters:
    ///   - record: the record as the owner names it.
    ///   - link: the identifier in the link of the record's share.
    fileprivate func traces(of record: RecordID, owner: Name, link: String?, in address: DatabaseAddress)
        -> [ClientOfUser:
        SharingReader.Trace]
    {
        var traces: [ClientOfUser: SharingReader.Trace] = [:]
        _ = latest(1) { request in
            guard let user = request.userRecordName, user != owner, request.container == address.container,
                request.environment == address.environment
            else { return false }
            let zones = request.zoneIDs.filter { $0.zoneName == record.zoneID.zoneName }
            let isLink = request.operation == "records/resolve" || request.operation == "records/accept"
            if zones.isEmpty, !isLink { return false }
            // Built anew for each request, so only for those that count.
            let client = ClientOfUser(client: request.client.id, user: user)
            let source = Delivery.Source(requestID: request.id, started: request.started, operation: request.operation)
            func isRefused(_ name: Name) -> Bool {
                request.itemErrors.contains { $0.name == name && $0.code == .accessDenied }
            }
            if isLink {
                if let link, traces[client]?.refusedLink == nil, isRefused(Name(link)) {
                    traces[client, default: .init()].refusedLink = source
                }
            } else if request.scope == .shared, zones.contains(where: { $0.ownerRecordName == owner }) {
                traces[client, default: .init()].namedTheZone = true
                if request.operation == "records/modify", traces[client]?.refusedWrite == nil,
                    isRefused(record.recordName)
                {
                    traces[client, default: .init()].refusedWrite = source
                }
            } else if let scope = request.scope, traces[client]?.misdirected == nil {
                traces[client, default: .init()].misdirected = SharingFacts.MisdirectedRequest(
                    scope: scope, owner: zones[0].ownerRecordName, source: source)
            }
            return false
        }
        return traces
    }
}

internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// Gathers what decides if other users get a record: the shares of its zone, its parents, and the requests of their clients.
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
        var stray: SharingFacts.Stray?
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
    let traces: [Asker: Trace]
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
            shares = try await visit.measure { try await database.shares(in: record.recordID.zoneID, after: nil, limit: Self.shareLimit) }
            share = try await visit.measure { try await database.share(showing: record) }
        }
        self.shares = shares.map(\.share)
        self.share = share
        let hierarchies = Set(shares.map(\.hierarchy))
        chain = share != nil || shares.isEmpty
            ? nil : try await visit.measure { try await Self.chain(of: record, below: hierarchies, in: database) }
        traces = visit.log.traces(of: record.recordID, owner: owner, link: share?.share.shortGUID, in: visit.place.address)
    }

    /// Follows the parents of a record.
    /// - Parameter hierarchies: those of the shares of the zone.
    private static func chain(of record: StoredRecord, below hierarchies: Set<Int64>, in database: any RecordDatabase) async throws -> SharingFacts.Chain {
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
            if let hierarchy = parent.sharing?.hierarchy, hierarchies.contains(hierarchy) { return SharingFacts.Chain(names: chain.names, end: .shared) }
            next = parent.parent
        }
        return chain
    }

    /// The position of the record in the feed of a user; `nil` for users who do not see it.
    func position(for user: Name) async throws -> RecordPosition? {
        if user == owner { return try await tokens.ownersDatabase(of: owner, at: address).position(of: record.recordID) }
        do {
            return try await shared(of: user).position(of: RecordID(recordName: record.recordID.recordName, zoneID: guestsZoneID))
        } catch let error as RecordError where error.code == .zoneNotFound || error.code == .zoneBusy {
            return nil
        }
    }

    /// The users who could expect the record: the participants of its share; without one, the guests of the other shares of the zone.
    var expectants: [ShareParticipant] {
        let all = share?.share.participants ?? shares.flatMap(\.participants).filter { $0.status == .accepted }
        return all.filter { $0.role != .owner }
    }

    /// True for users who were ever invited to a share of the zone, as far as the shares tell.
    func isParticipant(_ user: Name) -> Bool { shares.contains { $0.part(of: user, addresses(of: user)) != nil } }

    /// - Parameter asker: the client; `nil` for a user without one.
    func facts(_ user: Name, _ asker: Asker?, isSeen: Bool) async throws -> SharingFacts {
        let participant = share?.share.part(of: user, addresses(of: user))
        let trace = asker.flatMap { traces[$0] }
        let wasGuest = share != nil && participant == nil ? try await wasGuest(user) : false
        return SharingFacts(
            isSeen: isSeen, share: share?.share, chain: chain, participant: participant, wasGuest: wasGuest,
            refusedLink: trace?.refusedLink, stray: trace?.namedTheZone ?? true ? nil : trace?.stray, refusedWrite: trace?.refusedWrite)
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
    fileprivate func traces(of record: RecordID, owner: Name, link: String?, in address: DatabaseAddress) -> [Asker: SharingReader.Trace] {
        var traces: [Asker: SharingReader.Trace] = [:]
        _ = latest(1) { request in
            guard let user = request.userRecordName, user != owner, request.container == address.container, request.environment == address.environment
            else { return false }
            let zones = request.zoneIDs.filter { $0.zoneName == record.zoneID.zoneName }
            let isLink = request.operation == "records/resolve" || request.operation == "records/accept"
            if zones.isEmpty, !isLink { return false }
            // Built anew for each request, so only for those that count.
            let asker = Asker(client: request.client.id, user: user)
            let source = Delivery.Source(requestID: request.id, started: request.started, operation: request.operation)
            func isRefused(_ name: Name) -> Bool { request.itemErrors.contains { $0.name == name && $0.code == .accessDenied } }
            if isLink {
                if let link, traces[asker]?.refusedLink == nil, isRefused(Name(link)) { traces[asker, default: .init()].refusedLink = source }
            } else if request.scope == .shared, zones.contains(where: { $0.ownerRecordName == owner }) {
                traces[asker, default: .init()].namedTheZone = true
                if request.operation == "records/modify", traces[asker]?.refusedWrite == nil, isRefused(record.recordName) {
                    traces[asker, default: .init()].refusedWrite = source
                }
            } else if let scope = request.scope, traces[asker]?.stray == nil {
                traces[asker, default: .init()].stray = SharingFacts.Stray(scope: scope, owner: zones[0].ownerRecordName, source: source)
            }
            return false
        }
        return traces
    }
}

internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The content of a user's private database in one environment.
struct UserData: Sendable {
    let place: Place
    /// The summaries of the first zones; empty if the user never used the environment.
    /// `nil` if the engine can't summarize, or the environment does not exist.
    let summaries: ZoneSummaries?
    /// True if the environment exists.
    let isThere: Bool
    /// `nil` if the environment does not exist, or nobody can tell.
    let answer: DataAnswer?

    /// - Parameters:
    ///   - zones: the number of zones to examine.
    ///   - changes: the number of changes to read at each end of the feeds, in total, for the dates.
    init(
        of user: User, in environment: Records.Environment, zones: Int, changes: Int, existing: Set<Records.Environment>, visit: Visit
    ) async throws {
        let place = visit.place.with {
            $0.address.environment = environment
            $0.address.scope = .private
            $0.user = user.handle == User.developerHandle ? nil : user.handle
            $0.zone = .unspecified
        }
        self.place = place
        isThere = existing.contains(environment)
        guard isThere else {
            (summaries, answer) = (nil, nil)
            return
        }
        (summaries, answer) = try await visit.measure {
            guard try await Self.isKnown(user, in: environment, visit) else { return (ZoneSummaries(zones: [], left: 0), nil) }
            guard Self.reaches(place.address, visit) else { return (nil, nil) }
            let database = try await visit.engine.database(place.address, as: Caller(userRecordName: user.userRecordName))
            guard database.can(.summarizeZones) else {
                return (nil, try await DataAnswer(byFeedsOf: database, limit: zones, mentionsObjects: visit.hasObjects))
            }
            let summaries = try await database.summaries(limit: zones, changes: changes)
            return (summaries, DataAnswer(summaries, mentionsObjects: visit.hasObjects))
        }
    }

    /// True if the store may have data of a user. Viewing a page does not create the user in the store.
    static func isKnown(_ user: User, in environment: Records.Environment, _ visit: Visit) async throws -> Bool {
        // iCloud knows the one who signed in.
        guard visit.connection == nil, visit.engine.can(.knowUsers) else { return true }
        return try await visit.engine.knows(user.userRecordName, in: visit.place.address.container, environment)
    }

    /// False for a database in iCloud that its credentials do not open.
    static func reaches(_ address: DatabaseAddress, _ visit: Visit) -> Bool {
        guard visit.connection != nil else { return true }
        return visit.accounts.connections(of: address.container).contains { $0.environment == address.environment && $0.reach.contains(address.scope) }
    }

    /// The environments to show. For a container in iCloud, only those that are connected are known.
    static func shown(_ existing: Set<Records.Environment>, _ visit: Visit) -> [Records.Environment] {
        Records.Environment.allCases.filter { visit.connection == nil || existing.contains($0) }
    }

    /// The existing environments of the visit's container.
    static func environments(_ visit: Visit) async throws -> Set<Records.Environment> {
        guard visit.engine.can(.listEnvironments) else { return Set(Records.Environment.allCases) }
        return Set(try await visit.measure { try await visit.engine.environments(of: visit.place.address.container) })
    }

    var records: Int { summaries?.zones.reduce(0) { $0 + $1.counts.total } ?? 0 }

    /// The record counts by type, the highest first.
    var types: [(name: Name, count: Int)] {
        var counts: [Name: Int] = [:]
        for zone in summaries?.zones ?? [] { counts.merge(zone.counts.records, uniquingKeysWith: +) }
        return Self.sorted(counts)
    }

    static func sorted(_ counts: [Name: Int]) -> [(name: Name, count: Int)] {
        counts.filter { $0.value > 0 }.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }.map { ($0.key, $0.value) }
    }

    /// The number of zones. The default zone, which always exists, counts if it has records.
    var zoneCount: Int { (summaries?.zones.count { !$0.zoneID.isDefault || $0.counts.total > 0 } ?? 0) + (summaries?.left ?? 0) }

    var firstSave: Timestamp? { summaries?.zones.compactMap(\.firstSave).min() }
    var isFirstCertain: Bool { summaries.map { $0.left == 0 && $0.zones.allSatisfy(\.isFirstCertain) } ?? false }
    var lastSave: Timestamp? { summaries?.zones.compactMap(\.lastSave).max() }
}

/// A summary of a user's data for a table cell.
struct UserDataCell: ViewModel {
    /// The number of types that the summary names.
    private static let typeLimit = 3

    let environment: String
    let href: String
    /// `1,940 records`; `nil` if there are none.
    let records: String?
    let zones: String?
    /// `Message 1,900, Room 30, 10 of 2 more types`
    let types: String?
    let first: ValueView?
    let isFirstCertain: Bool
    let last: ValueView?
    /// The text in place of a summary without records.
    let nothing: String?
    /// `yes, in Notes and Chats, with Core Data objects`; `nil` if the other texts say it.
    let answer: String?
    /// The objects of Core Data.
    let objects: String?

    init(_ data: UserData) {
        environment = data.place.address.environment.rawValue
        href = data.place.link("zones")
        let total = data.records
        let zones = data.zoneCount
        records = total == 0 ? nil : Digits.count(total, "record")
        let left = data.summaries?.left ?? 0
        let looked = data.summaries?.zones.count ?? 0
        self.zones = zones == 0 ? nil : Digits.count(zones, "zone") + (left > 0 ? ", counted in \(Digits.grouped(looked))" : "")
        let types = data.types
        var words = types.prefix(Self.typeLimit).map { "\($0.name) \(Digits.grouped($0.count))" }
        let others = types.dropFirst(Self.typeLimit)
        if !others.isEmpty {
            words.append("\(Digits.grouped(others.reduce(0) { $0 + $1.count })) of \(Digits.count(others.count, "more type"))")
        }
        self.types = words.isEmpty ? nil : words.joined(separator: ", ")
        first = data.firstSave.map { ValueView(.time($0)) }
        isFirstCertain = data.isFirstCertain
        last = data.lastSave.map { ValueView(.time($0)) }
        nothing =
            total > 0 ? nil
            : data.isThere && data.summaries == nil
            ? "\(data.answer == nil ? "unknown" : "counts are unknown"): this store can't \(Capability.summarizeZones.rawValue)"
            : left > 0 ? "no records in the first \(Digits.grouped(looked)) of \(Digits.count(looked + left, "zone"))"
            : zones == 0 ? "no data yet" : "no records; \(Digits.count(zones, "zone"))"
        answer = data.answer?.words
        objects = data.answer?.hasObjects ?? false ? data.place.link("objects") : nil
    }
}

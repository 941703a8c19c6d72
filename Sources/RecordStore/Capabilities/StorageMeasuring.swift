public import JSON
public import Records

/// A database that can tell how much its zones hold. One that keeps it need not look at a record for that.
public protocol StorageMeasuring: RecordDatabase {
    /// What the living zones of the database hold by type, the zone with the most bytes first. Zones without records are left out.
    /// - Parameter limit: zones; of those beyond it only the sum is told.
    func storage(limit: Int) async throws -> DatabaseStorage
}

/// An engine that can say how much its stores hold, by type and by zone.
public protocol StorageReporting: RecordEngine {
    /// The stores that are open, by container, environment and database; the records of all users together. Stores without records are left
    /// out.
    ///
    /// One that can't be opened or read is left out too. Where stores keep what their zones hold, the work grows with the zones there are, not
    /// with the records.
    /// - Parameter limit: types and names of zones that are told of each database, those with the most bytes first.
    func storage(limit: Int) async throws -> [StoreStorage]
}

/// So many records and what they take. A damaged file may hold any number, so sums end at the greatest there is.
public struct StoredAmount: Sendable, Hashable {
    public var records: Int
    /// Bytes of fields, as the JSON that answers carry.
    public var bytes: Int64
    /// Bytes of the files that fields refer to. A file counts for each record and field that refers to it, though it is stored once.
    public var assetBytes: Int64

    public init(records: Int = 0, bytes: Int64 = 0, assetBytes: Int64 = 0) {
        self.records = records
        self.bytes = bytes
        self.assetBytes = assetBytes
    }

    public static func + (left: StoredAmount, right: StoredAmount) -> StoredAmount {
        StoredAmount(
            records: left.records.addingSaturated(right.records), bytes: left.bytes.addingSaturated(right.bytes),
            assetBytes: left.assetBytes.addingSaturated(right.assetBytes))
    }

    public static func += (left: inout StoredAmount, right: StoredAmount) { left = left + right }

    public static func - (left: StoredAmount, right: StoredAmount) -> StoredAmount {
        StoredAmount(
            records: left.records.subtractingSaturated(right.records), bytes: left.bytes.subtractingSaturated(right.bytes),
            assetBytes: left.assetBytes.subtractingSaturated(right.assetBytes))
    }

    /// All bytes, of fields and of files.
    public var allBytes: Int64 { bytes.addingSaturated(assetBytes) }
}

/// What the zones of a database hold.
public struct DatabaseStorage: Sendable, Hashable {
    public struct Zone: Sendable, Hashable {
        public var zoneID: ZoneID
        /// By type.
        public var types: [Name: StoredAmount]

        public init(zoneID: ZoneID, types: [Name: StoredAmount]) {
            self.zoneID = zoneID
            self.types = types
        }

        public var total: StoredAmount { types.values.reduce(StoredAmount(), +) }
    }

    public var zones: [Zone]
    /// Zones beyond the limit, and what they hold.
    public var others: Int
    public var othersTotal: StoredAmount

    public init(zones: [Zone], others: Int = 0, othersTotal: StoredAmount = StoredAmount()) {
        self.zones = zones
        self.others = others
        self.othersTotal = othersTotal
    }

    /// The same of any number of zones.
    public init(_ zones: some Sequence<Zone>, limit: Int) {
        let ordered = zones.map { (zone: $0, total: $0.total) }.filter { $0.total.records > 0 }.sorted { left, right in
            if left.total.allBytes != right.total.allBytes { return left.total.allBytes > right.total.allBytes }
            let (left, right) = (left.zone.zoneID, right.zone.zoneID)
            return (left.zoneName, left.ownerRecordName ?? "") < (right.zoneName, right.ownerRecordName ?? "")
        }
        let rest = ordered.dropFirst(limit)
        self.init(zones: ordered.prefix(limit).map(\.zone), others: rest.count, othersTotal: rest.reduce(StoredAmount()) { $0 + $1.total })
    }
}

/// What the databases of one scope hold in one container's environment.
public struct StoreStorage: Sendable, Hashable {
    public var container: ContainerID
    public var environment: Environment
    /// Public, or all users' private ones; what is shared counts where it is kept.
    public var scope: DatabaseScope
    public var total: StoredAmount
    /// The types with the most bytes.
    public var types: [Name: StoredAmount]
    /// The zones of the names with the most bytes: those of one name, whoever has them, together.
    public var zones: [Name: StoredAmount]

    /// - Parameters:
    ///   - amounts: by type and name of zone.
    ///   - limit: types and names that are kept.
    public init(
        container: ContainerID, environment: Environment, scope: DatabaseScope,
        _ amounts: some Sequence<(type: Name, zoneName: Name, amount: StoredAmount)>, limit: Int
    ) {
        (self.container, self.environment, self.scope) = (container, environment, scope)
        var (types, zones): ([Name: StoredAmount], [Name: StoredAmount]) = ([:], [:])
        var total = StoredAmount()
        for (type, zoneName, amount) in amounts where amount.records > 0 {
            types[type, default: StoredAmount()] += amount
            zones[zoneName, default: StoredAmount()] += amount
            total += amount
        }
        self.total = total
        self.types = Self.largest(of: types, limit)
        self.zones = Self.largest(of: zones, limit)
    }

    private static func largest(of amounts: [Name: StoredAmount], _ limit: Int) -> [Name: StoredAmount] {
        if amounts.count <= limit { return amounts }
        let ordered = amounts.sorted { ($1.value.allBytes, $0.key) < ($0.value.allBytes, $1.key) }
        return Dictionary(uniqueKeysWithValues: ordered.prefix(limit).map { ($0.key, $0.value) })
    }
}

public import Records

/// Number and size of records. A damaged file can contain any number, so sums saturate.
public struct StoredAmount: Sendable, Hashable {
    public var records: Int
    /// Size of the fields in bytes, as JSON.
    public var bytes: Int64
    /// Size of the referenced files in bytes. A file counts once for each record field that refers to it, although it
    /// is stored once.
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

    /// Total size of fields and files in bytes.
    public var allBytes: Int64 { bytes.addingSaturated(assetBytes) }
}

/// Contents of a database by zone.
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
    /// Number of zones beyond the limit.
    public var others: Int
    public var othersTotal: StoredAmount

    public init(zones: [Zone], others: Int = 0, othersTotal: StoredAmount = StoredAmount()) {
        self.zones = zones
        self.others = others
        self.othersTotal = othersTotal
    }

    /// Keeps the largest zones and sums up the others.
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

/// Contents of the databases of one scope in a container and environment.
public struct StoreStorage: Sendable, Hashable {
    public var container: ContainerID
    public var environment: Environment
    /// Public, or the private databases of all users. Shared data counts in the owner's database.
    public var scope: DatabaseScope
    public var total: StoredAmount
    /// The largest types.
    public var types: [Name: StoredAmount]
    /// The largest zone names. Zones of different owners with the same name are combined.
    public var zones: [Name: StoredAmount]

    /// - Parameters:
    /// - amounts: amounts by type and zone name.
    /// - limit: maximum number of types and of zone names kept.
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

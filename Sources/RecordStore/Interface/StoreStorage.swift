public import Records

/// Number and size of records. A damaged file can contain any number, so sums saturate.
public struct RecordTotals: Sendable, Hashable {
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

    public static func + (left: RecordTotals, right: RecordTotals) -> RecordTotals {
        RecordTotals(
            records: left.records.addingSaturated(right.records), bytes: left.bytes.addingSaturated(right.bytes),
            assetBytes: left.assetBytes.addingSaturated(right.assetBytes))
    }

    public static func += (left: inout RecordTotals, right: RecordTotals) { left = left + right }

    public static func - (left: RecordTotals, right: RecordTotals) -> RecordTotals {
        RecordTotals(
            records: left.records.subtractingSaturated(right.records),
            bytes: left.bytes.subtractingSaturated(right.bytes),
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
        public var types: [Name: RecordTotals]

        public init(zoneID: ZoneID, types: [Name: RecordTotals]) {
            self.zoneID = zoneID
            self.types = types
        }

        public var total: RecordTotals { types.values.reduce(RecordTotals(), +) }
    }

    public var zones: [Zone]
    /// Number of zones that were left out because of the limit.
    public var others: Int
    public var othersTotal: RecordTotals

    public init(zones: [Zone], others: Int = 0, othersTotal: RecordTotals = RecordTotals()) {
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
        self.init(
            zones: ordered.prefix(limit).map(\.zone), others: rest.count,
            othersTotal: rest.reduce(RecordTotals()) { $0 + $1.total })
    }
}

/// Contents of the databases of one scope in a container and environment.
public struct StoreStorage: Sendable, Hashable {
    public var container: ContainerID
    public var environment: Environment
    /// Public, or the private databases of all users. Shared data counts in the owner's database.
    public var scope: DatabaseScope
    public var total: RecordTotals
    /// The largest types.
    public var types: [Name: RecordTotals]
    /// The largest zone names. Zones of different owners with the same name are combined.
    public var zones: [Name: RecordTotals]

    /// - Parameters:
    /// - amounts: amounts by type and zone name.
    /// - limit: maximum number of types and of zone names kept.
    public init(
        container: ContainerID, environment: Environment, scope: DatabaseScope,
        _ amounts: some Sequence<(type: Name, zoneName: Name, amount: RecordTotals)>, limit: Int
    ) {
        (self.container, self.environment, self.scope) = (container, environment, scope)
        var (types, zones): ([Name: RecordTotals], [Name: RecordTotals]) = ([:], [:])
        var total = RecordTotals()
        for (type, zoneName, amount) in amounts where amount.records > 0 {
            types[type, default: RecordTotals()] += amount
            zones[zoneName, default: RecordTotals()] += amount
            total += amount
        }
        self.total = total
        self.types = Self.largest(of: types, limit)
        self.zones = Self.largest(of: zones, limit)
    }

    private static func largest(of amounts: [Name: RecordTotals], _ limit: Int) -> [Name: RecordTotals] {
        if amounts.count <= limit { return amounts }
        let ordered = amounts.sorted { ($1.value.allBytes, $0.key) < ($0.value.allBytes, $1.key) }
        return Dictionary(uniqueKeysWithValues: ordered.prefix(limit).map { ($0.key, $0.value) })
    }
}

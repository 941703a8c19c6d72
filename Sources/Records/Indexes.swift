/// The indexes of a field.
public struct Indexes: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Equality, membership, distance and ranges.
    public static let queryable = Indexes(rawValue: 1)
    /// Order and ranges.
    public static let sortable = Indexes(rawValue: 2)
    /// Words of a text.
    public static let searchable = Indexes(rawValue: 4)

    /// The names in the order in which schema files write them.
    public static let named: [(name: String, index: Indexes)] = [
        ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
    ]

    public var names: [String] {
        Self.named.filter { contains($0.index) }.map(\.name)
    }

    /// The index of one name, in any case.
    public init?(name: String) {
        guard let index = Self.named.first(where: { $0.name == name.uppercased() })?.index else { return nil }
        self = index
    }
}

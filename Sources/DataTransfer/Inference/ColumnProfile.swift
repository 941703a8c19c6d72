internal import JSON
internal import Records

/// What the values of one column have in common.
struct ColumnProfile: Sendable {
    let name: Name
    private var kinds: CellKind = []
    /// The lines that first showed a single value and a list.
    private var firstScalar: String?
    private var firstList: String?
    /// The line that first showed something other than the kinds before it, for messages.
    private var firstLocation: String?
    private var firstOther: String?
    private(set) var problem: String?
    /// Whether every number is a latitude or a longitude, as far as its range tells.
    private(set) var fitsLatitude = true
    private(set) var fitsLongitude = true

    init(_ name: Name) {
        self.name = name
    }

    /// Whether any row has a value.
    var hasValue: Bool { firstScalar != nil || firstList != nil }
    var isNumeric: Bool { !kinds.isEmpty && kinds.isSubset(of: .numbers) && firstList == nil }

    /// Takes a value into account.
    mutating func note(_ cell: Cell, place: @autoclosure () -> String) {
        if cell.isEmpty { return }
        if case .json(.array(let elements)) = cell {
            firstList = firstList ?? place()
            for element in elements { note(scalar: .json(element), place: place()) }
        } else {
            firstScalar = firstScalar ?? place()
            note(scalar: cell, place: place())
        }
        if problem == nil, let firstScalar, let firstList {
            problem = "'\(name)' holds a single value in \(firstScalar) and a list in \(firstList); a field is one or the other"
        }
    }

    private mutating func note(scalar cell: Cell, place: @autoclosure () -> String) {
        guard let kind = CellKind(cell) else {
            problem = problem ?? "'\(name)' holds \(Self.description(of: cell)) in \(place())"
            return
        }
        kinds.formUnion(kind)
        if kind == .location { firstLocation = firstLocation ?? place() } else { firstOther = firstOther ?? place() }
        if let number = cell.number {
            fitsLatitude = fitsLatitude && (-90...90).contains(number)
            fitsLongitude = fitsLongitude && (-180...180).contains(number)
        }
        if problem == nil, let firstLocation, let firstOther {
            problem = "'\(name)' holds a location in \(firstLocation) and something else in \(firstOther); a field has one type"
        }
    }

    private static func description(of cell: Cell) -> String {
        switch cell {
        case .json(.null): "null inside a list"
        case .json(.array): "a list inside a list"
        default: "an object that is no location (one has 'latitude' and 'longitude')"
        }
    }

    /// The type that holds every value without loss, `nil` when no row has a value.
    var type: FieldType? {
        guard hasValue else { return nil }
        return FieldType(valueType, isList: firstList != nil)
    }

    private var valueType: ValueType {
        if kinds == .date { return .timestamp }
        if kinds == .location { return .location }
        if !kinds.isEmpty, kinds.isSubset(of: [.integer, .longInteger]) { return .int64 }
        if !kinds.isEmpty, kinds.isSubset(of: [.integer, .decimal]) { return .double }
        // Also for fractions beside integers of more than 53 bits, which a DOUBLE would round, and for lists that are all empty.
        return .string
    }
}

extension Cell {
    /// The number that the cell holds.
    var number: Double? {
        switch self {
        case .text(let text):
            switch NumberText(text) {
            case .integer(let integer): Double(integer)
            case .decimal(let double): double
            case nil: nil
            }
        case .json(.integer(let integer)): Double(integer)
        case .json(.double(let double)): double
        default: nil
        }
    }
}

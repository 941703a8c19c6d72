internal import JSON
internal import Records

/// A summary of the values in one column.
struct ColumnProfile: Sendable {
    let name: Name
    private var kinds: CellKind = []
    /// The lines with the first single value and the first list.
    private var firstScalar: String?
    private var firstList: String?
    /// The lines with the first location and the first other value, for error messages.
    private var firstLocation: String?
    private var firstOther: String?
    /// The first text that is no number, date or location, and how many there are.
    private var firstText: String?
    private var textCount = 0
    /// The first number that may be a code.
    private var firstExponent: String?
    private var scalarCount = 0
    private(set) var problem: String?
    /// True if all numbers are in the range of a latitude or longitude.
    private(set) var fitsLatitude = true
    private(set) var fitsLongitude = true

    init(_ name: Name) {
        self.name = name
    }

    /// True if any row has a value.
    var hasValue: Bool { firstScalar != nil || firstList != nil }
    var isNumeric: Bool { !kinds.isEmpty && kinds.isSubset(of: .numbers) && firstList == nil }

    /// Adds a value to the summary.
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
            problem = "'\(name)' has a single value in \(firstScalar) and a list in \(firstList); use only one of the two"
        }
    }

    private mutating func note(scalar cell: Cell, place: @autoclosure () -> String) {
        guard let kind = CellKind(cell) else {
            problem = problem ?? "'\(name)' has \(Self.description(of: cell)) in \(place())"
            return
        }
        kinds.formUnion(kind)
        scalarCount += 1
        if kind == .text {
            textCount += 1
            firstText = firstText ?? "\(place()) has \(cell.shown)"
        }
        if kind == .exponent { firstExponent = firstExponent ?? "\(place()) has \(cell.shown)" }
        if kind == .location { firstLocation = firstLocation ?? place() } else { firstOther = firstOther ?? place() }
        if let number = cell.number {
            fitsLatitude = fitsLatitude && (-90...90).contains(number)
            fitsLongitude = fitsLongitude && (-180...180).contains(number)
        }
        if problem == nil, let firstLocation, let firstOther {
            problem = "'\(name)' has a location in \(firstLocation) and another type in \(firstOther); use one type"
        }
    }

    private static func description(of cell: Cell) -> String {
        switch cell {
        case .json(.null): "null inside a list"
        case .json(.array): "a list inside a list"
        default: "an object that is not a location (it needs 'latitude' and 'longitude')"
        }
    }

    /// The type that represents every value without loss; `nil` if no row has a value.
    var type: FieldType? {
        guard hasValue else { return nil }
        return FieldType(valueType, isList: firstList != nil)
    }

    /// The text that makes a column a STRING, although most of its values are not text: `a.csv:5 has 'none'`.
    var textReason: String? {
        if valueType == .string, kinds.isSubset(of: .numbers), let firstExponent { return firstExponent }
        return kinds != .text && textCount * 2 <= scalarCount ? firstText : nil
    }

    private var valueType: ValueType {
        if kinds == .date { return .timestamp }
        if kinds == .location || kinds == .coordinates { return .location }
        if !kinds.isEmpty, kinds.isSubset(of: [.integer, .longInteger]) { return .int64 }
        if kinds.contains(.decimal), kinds.isSubset(of: [.integer, .decimal, .exponent]) { return .double }
        // Also for fractions beside integers of more than 53 bits, which a DOUBLE would round, and for columns with only empty lists.
        return .string
    }
}

extension Cell {
    /// The number in the cell.
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

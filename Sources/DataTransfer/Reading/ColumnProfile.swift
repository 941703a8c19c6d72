internal import RecordStore
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
    /// The first text that is not a number, date or location, and the number of such texts.
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

    /// True if at least one row has a value.
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
            problem =
                "'\(name)' has a single value in \(firstScalar) and a list in \(firstList); use only one of the two"
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
        if !kind.isDisjoint(with: .numbers), let number = cell.number {
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

    /// The value because of which a column is a STRING although most of its values are not text: `a.csv:5 has 'none'`.
    var textReason: String? {
        if valueType == .string, kinds.isSubset(of: .numbers), let firstExponent { return firstExponent }
        return kinds != .text && textCount * 2 <= scalarCount ? firstText : nil
    }

    private var valueType: ValueType {
        if kinds == .date { return .timestamp }
        if kinds == .location || kinds == .coordinates { return .location }
        if !kinds.isEmpty, kinds.isSubset(of: [.integer, .longInteger]) { return .int64 }
        if kinds.contains(.decimal), kinds.isSubset(of: [.integer, .decimal, .exponent]) { return .double }
        // A STRING also if there are fractions beside integers of more than 53 bits, which a DOUBLE would round, or if
        // there are only empty lists.
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

// MARK: - Types of values

/// The possible types of a value, before the type of its column is known.
struct CellKind: OptionSet, Sendable, Hashable {
    let rawValue: Int

    init(rawValue: Int) {
        self.rawValue = rawValue
    }

    static let integer = CellKind(rawValue: 1)
    static let decimal = CellKind(rawValue: 2)
    /// An integer without an exact representation as a DOUBLE.
    static let longInteger = CellKind(rawValue: 4)
    static let date = CellKind(rawValue: 8)
    static let text = CellKind(rawValue: 16)
    static let location = CellKind(rawValue: 32)
    /// A location in a text. Beside other texts, it stays a text.
    static let coordinates = CellKind(rawValue: 64)

    /// A whole number with an exponent without a sign, such as `1E5`. Beside fractions it is a number, otherwise more
    /// likely a code.
    static let exponent = CellKind(rawValue: 128)

    static let numbers: CellKind = [.integer, .decimal, .longInteger, .exponent]

    /// The kind of a scalar.
    /// - Returns: `nil` for an object that is not a location, for an array and for null.
    init?(_ cell: Cell) {
        switch cell {
        case .text(let text):
            switch NumberText(text) {
            case .integer(let integer): self = Self(integer)
            case .decimal: self = NumberText.isLikeCode(text) ? .exponent : .decimal
            case nil:
                self =
                    DateText.timestamp(of: text) != nil
                    ? .date : CoordinatesText.isExported(text) ? .coordinates : .text
            }
        case .json(.bool): self = .integer
        case .json(.integer(let integer)): self = Self(integer)
        case .json(.double): self = .decimal
        case .json(.string(let text)): self = DateText.timestamp(of: text) == nil ? .text : .date
        case .json(.object(let object)) where object["latitude"] != nil && object["longitude"] != nil: self = .location
        case .json: return nil
        }
    }

    private init(_ integer: Int64) {
        self = Double(exactly: integer) == nil ? .longInteger : .integer
    }
}

extension Cell {
    /// The value for a field of the given type; `nil` if the cell is not a valid value of the type.
    func value(as type: FieldType, field: Name) -> FieldValue? {
        switch self {
        case .text(let text) where type.isList:
            guard case .array(let elements)? = try? JSONReader.value(of: text) else { return nil }
            return Cell.json(.array(elements)).value(as: type, field: field)
        case .text(let text): return Self.value(of: text, as: type.valueType)
        case .json(.array(let elements)) where type.isList:
            let values = elements.compactMap { Cell.json($0).value(as: FieldType(type.valueType), field: field) }
            return values.count == elements.count ? .list(values, of: type.valueType) : nil
        case .json(let json): return type.isList ? nil : Self.value(of: json, as: type, field: field)
        }
    }

    private static func value(of text: String, as type: ValueType) -> FieldValue? {
        switch type {
        case .string: .string(text)
        case .int64: if case .integer(let integer)? = NumberText(text) { .int64(integer) } else { nil }
        case .double: Cell.text(text).number.map { .double($0) }
        case .timestamp: DateText.timestamp(of: text).map { .timestamp($0) }
        case .reference: .reference(Reference(recordName: Name(text)))
        case .bytes: tagged(.string(text), as: .bytes, field: "")
        // The degrees alone, or all members of a location.
        case .location:
            CoordinatesText.location(of: text).map { .location($0) }
                ?? (try? JSONReader.value(of: text)).flatMap { tagged($0, as: FieldType(.location), field: "") }
        case .asset: (try? JSONReader.value(of: text)).flatMap { tagged($0, as: FieldType(.asset), field: "") }
        }
    }

    private static func value(of json: JSONValue, as type: FieldType, field: Name) -> FieldValue? {
        switch (type.valueType, json) {
        case (.string, .integer(let integer)): .string(String(integer))
        case (.string, .double(let double)): .string(double.description)
        case (.string, .bool(let bool)): .string(bool ? "true" : "false")
        case (.timestamp, .string(let text)): DateText.timestamp(of: text).map { .timestamp($0) }
        case (.int64, .string), (.double, .string): nil
        default: tagged(json, as: type, field: field)
        }
    }

    /// The value as parsed from a request with a type tag.
    private static func tagged(_ json: JSONValue, as type: FieldType, field: Name) -> FieldValue? {
        let tagged: JSONValue = ["value": json, "type": .string(FieldType(type.valueType).wireName)]
        // The caller reports the error with its row and column.
        guard case .tagged(let value, _, _)? = try? FieldInput(tagged, field: field) else { return nil }
        return value
    }
}

// MARK: - Names of fields

/// Derives field names from column names. The import reports columns that had to be renamed.
enum FieldNaming {
    /// The field name of a column: keeps ASCII letters and digits, and replaces each run of
    /// other characters by _. A name that does not start with a letter gets the prefix `f`.
    /// - Throws: `ImportError` if nothing usable remains, or the name is that of a system field.
    static func fieldName(for column: Name) throws(ImportError) -> Name {
        if SystemField(named: column) != nil {
            throw .invalid(
                "The column '\(column)' has the name of a system field: rename the column, because the server sets this field"
            )
        }
        // The code below repairs invalid names, so the error is ignored. A name that can't be repaired gets its own
        // error.
        if (try? NameRules.checkFieldName(column)) != nil { return column }
        var kept = ""
        for scalar in column.string.unicodeScalars {
            let isKept = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isKept { kept.unicodeScalars.append(scalar) } else if kept.last != "_" { kept += "_" }
        }
        while kept.last == "_" { kept.removeLast() }
        if !kept.contains(where: { $0 != "_" }) {
            throw .invalid(
                "The column '\(column)' can't be a field name: field names have letters, digits and _; rename it")
        }
        if kept.first?.isLetter != true { kept = "f" + (kept.hasPrefix("_") ? "" : "_") + kept }
        let name = Name(String(kept.prefix(Field.nameLimit)))
        if (try? NameRules.checkFieldName(name)) == nil || SystemField(named: name) != nil {
            throw .invalid("The column '\(column)' can't be a field name; rename it")
        }
        return name
    }
}

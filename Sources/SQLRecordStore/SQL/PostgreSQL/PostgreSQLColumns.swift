#if PostgreSQL
internal import CPostgreSQL

/// A type of PostgreSQL, by its number in `pg_type`.
struct PostgreSQLType: RawRepresentable, Hashable {
    let rawValue: UInt32

    /// Lets the server find the type.
    static let unknown = PostgreSQLType(rawValue: 0)
    static let bool = PostgreSQLType(rawValue: 16)
    static let bytes = PostgreSQLType(rawValue: 17)
    static let int8 = PostgreSQLType(rawValue: 20)
    static let int2 = PostgreSQLType(rawValue: 21)
    static let int4 = PostgreSQLType(rawValue: 23)
    static let oid = PostgreSQLType(rawValue: 26)
    static let float4 = PostgreSQLType(rawValue: 700)
    static let float8 = PostgreSQLType(rawValue: 701)
    static let numeric = PostgreSQLType(rawValue: 1700)
    static let bytesArray = PostgreSQLType(rawValue: 1001)
    /// `"char"`, `name`, `text`, `json`, `unknown`, `char(n)`, `varchar` and `void`: their binary form is their text.
    static let texts: Set<PostgreSQLType> = Set([18, 19, 25, 114, 705, 1042, 1043, 2278].map(PostgreSQLType.init(rawValue:)))
}

/// The columns of a result, and how their values in binary form are read.
struct PostgreSQLColumns {
    private enum Form {
        case integer, real, numeric, octets
    }

    let names: [String]
    private let forms: [Form]

    static let none = PostgreSQLColumns(names: [], forms: [])

    private init(names: [String], forms: [Form]) {
        self.names = names
        self.forms = forms
    }

    /// - Throws: ``SQLError`` if a column has a type that can't be read.
    init(of result: OpaquePointer?, _ sql: String) throws {
        let columns = 0..<PQnfields(result)
        let names = columns.map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
        self.names = names
        forms = try columns.map { column in
            switch PostgreSQLType(rawValue: PQftype(result, column)) {
            case .int8, .int4, .int2, .bool, .oid: .integer
            case .float8, .float4: .real
            case .numeric: .numeric
            case .bytes: .octets
            case let type where PostgreSQLType.texts.contains(type): .octets
            case let type:
                let problem = "the column '\(names[Int(column)])' has the type number \(type.rawValue) of pg_type, which can't be read; cast it in the text"
                throw SQLError(.misuse, "type", problem, sql)
            }
        }
    }

    /// Reads a row. Its values stay in the memory of the result.
    func read(_ row: Int32, of result: OpaquePointer, into cells: UnsafeMutableBufferPointer<SQLCell>) {
        for column in cells.indices { cells.initializeElement(at: column, to: cell(row, Int32(column), result)) }
    }

    @inline(__always) private func cell(_ row: Int32, _ column: Int32, _ result: OpaquePointer) -> SQLCell {
        guard PQgetisnull(result, row, column) == 0 else { return .null }
        let octets = UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
        return switch forms[Int(column)] {
        case .octets: SQLCell(kind: .textOrBytes, number: 0, octets: octets)
        case .integer: .integer(Self.integer(octets))
        case .real: .real(octets.count == 4 ? Double(Float(bitPattern: Self.bits(octets))) : Double(bitPattern: Self.bits(octets)))
        case .numeric: Self.numeric(octets)
        }
    }

    private static func bits<Bits: FixedWidthInteger>(_ octets: UnsafeRawBufferPointer, at offset: Int = 0) -> Bits {
        Bits(bigEndian: octets.loadUnaligned(fromByteOffset: offset, as: Bits.self))
    }

    private static func integer(_ octets: UnsafeRawBufferPointer) -> Int64 {
        switch octets.count {
        case 8: bits(octets)
        case 4: Int64(bits(octets) as Int32)
        case 2: Int64(bits(octets) as Int16)
        default: Int64(octets[0])
        }
    }

    /// A decimal number, such as a sum, consists of digits to the base 10,000. One that is not whole, or too large for an integer, becomes a real number.
    private static func numeric(_ octets: UnsafeRawBufferPointer) -> SQLCell {
        let count = Int(bits(octets) as Int16)
        /// Digits before the point.
        let whole = 1 + Int(bits(octets, at: 2) as Int16)
        let sign: UInt16 = bits(octets, at: 4)
        switch sign {
        case 0, 0x4000:
            let digits = (0..<count).map { String(String(10_000 + Int(bits(octets, at: 8 + 2 * $0) as Int16)).dropFirst()) }
            let text = (sign == 0 ? "" : "-") + "0" + digits.joined()
            if count <= whole, whole < 6, let integer = Int64(text + String(repeating: "0000", count: whole - count)) { return .integer(integer) }
            return .real(Double("\(text)e\(4 * (whole - count))") ?? .nan)
        case 0xD000: return .real(.infinity)
        case 0xF000: return .real(-.infinity)
        default: return .real(.nan)
        }
    }
}
#endif

import RecordStore
import Records
import Testing

/// The rules for key-value stores: sizes, limits, callers, and the form of values in JSON.
@Suite struct KeyValueRulesTests {
    private static func address(_ scope: DatabaseScope) throws -> DatabaseAddress {
        DatabaseAddress(
            container: try #require(ContainerID("iCloud.com.example.Test")), environment: .development, scope: scope)
    }

    @Test func sizesAreThoseOfTheContent() {
        let sizes: [(value: PropertyValue, size: Int)] = [
            (.string("é"), 2), (.string(""), 0), (.bytes([1, 2, 3]), 3), (.bool(false), 8), (.integer(0), 8),
            (.double(0), 8),
            (.date(Timestamp(milliseconds: 0)), 8), (.array([]), 0), (.array([.string("ab"), .bool(true)]), 26),
            (.dictionary(["é": .array([.bytes([1])])]), 19),
        ]
        for (value, size) in sizes { #expect(value.size == size, "\(value)") }
    }

    /// Memory for an answer is reserved by it.
    @Test func theLengthOfTheJSONIsKnownBefore() {
        let controls = String(repeating: "\u{1}", count: 1000)
        let values: [PropertyValue] = [
            .string(controls), .string("a\"\\é\n\u{7f}"), .bytes([1, 2, 3, 4]), .bool(false), .integer(.min),
            .double(-.leastNormalMagnitude),
            .date(Timestamp(milliseconds: .min)), .array([.integer(1), .array([])]),
            .dictionary(["a": .string(controls), "\u{1}\"": .dictionary([:])]),
        ]
        for value in values + [.array(values)] {
            var writer = JSONWriter()
            writer.value(value)
            #expect(value.textLimit >= writer.bytes.count, "\(value.kind)")
        }
        #expect(PropertyValue.string(controls).textLimit < 6100)
    }

    @Test func storesBelongToPrivateDatabasesAndUsers() throws {
        let user = Caller(userRecordName: "_ada00000000000000000000000000000")
        let nobody = Caller(userRecordName: "_anonymous", access: .anonymous)
        try KeyValueRules.check(user, in: Self.address(.private))
        for scope in [DatabaseScope.public, .shared] {
            let address = try Self.address(scope)
            let error = #expect(throws: RecordError.self) { try KeyValueRules.check(user, in: address) }
            #expect(error?.code == .badRequest)
        }
        let address = try Self.address(.private)
        let error = #expect(throws: RecordError.self) { try KeyValueRules.check(nobody, in: address) }
        #expect(error?.code == .authenticationRequired)
    }

    @Test func onlyTheLastOperationOfAKeyCounts() throws {
        var modifier = KeyValueModifier(["there": 5, "gone": 7])
        let admitted = try modifier.admit([
            .set("a", .bool(true)), .remove("none"), .remove("gone"), .set("b", .string("x")), .set("a", .string("yy")),
        ])
        #expect(admitted == [.remove("gone"), .set("b", .string("x")), .set("a", .string("yy"))])
        #expect(modifier.usage == KeyValueUsage(keys: 3, bytes: 8))
        let many = (0...KeyValueRules.operationsLimit).map { _ in KeyValueOperation.remove("a") }
        #expect(throws: RecordError.self) { try modifier.admit(many) }
    }

    /// The deepest value that is allowed goes through JSON, in a request and in an export.
    @Test func valuesGoThroughJSON() throws {
        let deep = (1..<KeyValueLimits.depth).reduce(PropertyValue.integer(.max)) { value, _ in .array([value]) }
        try KeyValueLimits.check(.set("k", deep))
        for value in [deep, .dictionary(["": .double(1), "é": .bytes([])])] as [PropertyValue] {
            var writer = JSONWriter()
            writer.object { writer in
                writer.name("operations")
                writer.array { $0.value(KeyValueOperation.set("k", value)) }
            }
            let operations = try [KeyValueOperation].member("operations", of: RequestObject(writer.bytes))
            #expect(operations == [.set("k", value)])
        }
    }
}

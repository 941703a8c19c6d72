import Records
import Testing

@Suite struct FieldInputTests {
    @Test(arguments: [
        (#""x""#, FieldInput.untagged(.string("x"), isEncrypted: false)),
        (#"{"value":"x"}"#, .untagged(.string("x"), isEncrypted: false)),
        (#"{"value":"x","type":"STRING"}"#, .tagged(.string("x"), .string, isEncrypted: false)),
        (#"{"value":"x","type":"STRING","isEncrypted":true}"#, .tagged(.string("x"), .string, isEncrypted: true)),
        (#"{"value":"x","type":"ENCRYPTED_STRING"}"#, .tagged(.string("x"), .string, isEncrypted: true)),
        ("3", .untagged(.int64(3), isEncrypted: false)),
        ("3.0", .untagged(.double(3), isEncrypted: false)),
        ("true", .untagged(.int64(1), isEncrypted: false)),
        ("null", .cleared),
        (#"{"value":null}"#, .cleared),
        (#"{"value":null,"type":"STRING"}"#, .cleared),
        ("{}", .cleared),
        (#"{"isEncrypted":true}"#, .cleared),
        (#"{"type":"UNKNOWN_LIST"}"#, .cleared),
        (#"{"value":"AQI=","type":"ENCRYPTED_BYTES"}"#, .tagged(.bytes([1, 2]), .bytes, isEncrypted: true)),
        (#"{"value":"AQI=","type":"BYTES","isEncrypted":true}"#, .tagged(.bytes([1, 2]), .bytes, isEncrypted: true)),
        (#"{"value":3,"type":"NUMBER_INT64"}"#, .tagged(.int64(3), .int64, isEncrypted: false)),
        (#"{"value":3,"type":"NUMBER_DOUBLE"}"#, .tagged(.double(3), .double, isEncrypted: false)),
        (
            #"{"value":[3],"type":"NUMBER_INT64_LIST"}"#,
            .tagged(.list([.int64(3)], of: .int64), .list(.int64), isEncrypted: false)
        ),
        (#"{"value":3,"type":"ENCRYPTED_NUMBER_DOUBLE"}"#, .tagged(.double(3), .double, isEncrypted: true)),
        (#"{"value":3,"type":"DOUBLE"}"#, .tagged(.double(3), .double, isEncrypted: false)),
        (
            #"{"value":"9007199254740993","type":"INT64"}"#,
            .tagged(.int64(9_007_199_254_740_993), .int64, isEncrypted: false)
        ),
        (
            #"{"value":1700000000123,"type":"TIMESTAMP"}"#,
            .tagged(.timestamp(Timestamp(milliseconds: 1_700_000_000_123)), .timestamp, isEncrypted: false)
        ),
        (#"{"value":"AP8=","type":"BYTES"}"#, .tagged(.bytes([0, 255]), .bytes, isEncrypted: false)),
        (#"{"value":[],"type":"STRING_LIST"}"#, .tagged(.list([], of: .string), .list(.string), isEncrypted: false)),
        ("[]", .untagged(.list([], of: nil), isEncrypted: false)),
        ("[1,2.5]", .untagged(.list([.double(1), .double(2.5)], of: .double), isEncrypted: false)),
        (
            #"{"recordName":"r","action":"DELETE_SELF"}"#,
            .untagged(.reference(Reference(recordName: "r", action: .deleteSelf)), isEncrypted: false)
        ),
        (
            #"{"latitude":1,"longitude":-2.5}"#,
            .untagged(.location(Location(latitude: 1, longitude: -2.5)), isEncrypted: false)
        ),
    ])
    func reads(json: String, expected: FieldInput) throws {
        #expect(try FieldInput(JSONReader.value(of: json), field: "f") == expected)
    }

    @Test(arguments: [
        #"{"value":1.5,"type":"TIMESTAMP"}"#, #"{"value":"x","type":"INT64"}"#, #"{"value":"%","type":"BYTES"}"#,
        #"{"value":1,"type":"NUMBER"}"#, #"{"value":1,"type":7}"#, #"[1,"x"]"#, "[[1]]", #"{"type":"COLOUR"}"#,
        #"{"type":7}"#, #"{"kind":"STRING"}"#, #"{"latitude":91,"longitude":0}"#,
        #"{"recordName":"r","action":"MAYBE"}"#, #"{"recordName":""}"#, #"{"value":"x","type":"STRING_LIST"}"#,
        #"{"value":[null],"type":"STRING_LIST"}"#,
    ])
    func refuses(json: String) throws {
        let value = try JSONReader.value(of: json)
        #expect { try FieldInput(value, field: "f") } throws: { error in
            guard let error = error as? RecordError else { return false }
            return error.code == .badRequest && error.reason.contains("'f'")
        }
    }

    @Test("Serializers that drop what is null leave the type alone", arguments: ValueType.allCases)
    func valueLeftOut(type: ValueType) throws {
        for name in [FieldType(type).wireName, FieldType.list(type).wireName, type.rawValue] {
            #expect(try FieldInput(["type": .string(name)], field: "f") == .cleared)
            #expect(try FieldInput(["type": .string(name), "isEncrypted": false], field: "f") == .cleared)
        }
    }

    @Test func letsTheSchemaDecideWhatWasNotTagged() {
        let timestamp = FieldInput.untagged(.int64(5), isEncrypted: false).value(declared: .timestamp)
        #expect(timestamp == .timestamp(Timestamp(milliseconds: 5)))
        #expect(FieldInput.untagged(.int64(5), isEncrypted: false).value(declared: .double) == .double(5))
        #expect(FieldInput.untagged(.string("AP8="), isEncrypted: false).value(declared: .bytes) == .bytes([0, 255]))
        #expect(FieldInput.untagged(.string("x"), isEncrypted: false).value(declared: .int64) == nil)
        #expect(FieldInput(.int64(5)).value(declared: .double) == nil)
        #expect(
            FieldInput.untagged(.list([], of: nil), isEncrypted: false).value(declared: .list(.int64))
                == .list([], of: .int64))
    }
}

/// Arithmetic on numbers that may be any.
@Suite struct SaturationTests {
    @Test(
        arguments: [
            (.max, 1, .max, .max - 1, .max), (.min, -1, .min, .min + 1, .max), (.max, -1, .max - 1, .max, .min + 1),
            (.min, 1, .min + 1, .min, .min),
            (.max, .max, .max, 0, .max), (.min, .min, .min, 0, .max), (.max, .min, -1, .max, .min),
            (0, .min, .min, .max, 0), (7, 3, 10, 4, 21),
        ] as [(Int64, Int64, Int64, Int64, Int64)])
    func resultsStayInRange(left: Int64, right: Int64, sum: Int64, difference: Int64, product: Int64) {
        #expect(left.addingSaturated(right) == sum)
        #expect(left.subtractingSaturated(right) == difference)
        #expect(left.multipliedSaturated(by: right) == product)
    }

    @Test(
        arguments: [([], 0), ([1, 2], 3), ([.max, .max], .max), ([.max, .max, -1], .max - 1), ([.min, -1], .min)]
            as [([Int], Int)])
    func sumsStayInRange(numbers: [Int], sum: Int) {
        #expect(numbers.saturatedSum == sum)
    }
}

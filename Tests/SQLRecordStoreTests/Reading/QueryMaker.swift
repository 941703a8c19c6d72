import Records
import TestSupport

/// Makes random queries, most of which are valid.
enum QueryMaker {
    static func query(using random: inout SeededRandom) -> Query {
        let filters = (0..<(Int.random(in: 0..<10, using: &random) < 7 ? Int.random(in: 0...1, using: &random) : 2)).map
        { _ in filter(using: &random) }
        let sorts = (0..<Int.random(in: 0...2, using: &random)).map { _ in sort(using: &random) }
        return Query(
            recordType: Int.random(in: 0..<8, using: &random) == 0 ? "Other" : "Item", filters: filters, sorts: sorts)
    }

    static func location(using random: inout SeededRandom) -> Location {
        // Includes places near the date line and the poles.
        Location(
            latitude: [-90, -45.5, 0, 47.6, 47.7, 89.9, 90].randomElement(using: &random) ?? 0,
            longitude: [-180, -122.3, -122.2, 0, 13.4, 179.9, 180].randomElement(using: &random) ?? 0)
    }

    private static func text(using random: inout SeededRandom) -> FieldValue {
        .string(
            [
                "apple", "pear", "Äpfel", "a", "", "ZEBRA", "名前", "nul\u{0}end", "nul", "é", "e\u{301}",
                String(repeating: "long ", count: 210) + "a",
            ].randomElement(using: &random) ?? "")
    }

    private static func filter(using random: inout SeededRandom) -> Query.Filter {
        let ordered: [Records.Comparator] = [
            .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals,
        ]
        let comparator = ordered.randomElement(using: &random) ?? .equals
        switch Int.random(in: 0..<15, using: &random) {
        case 0: return Query.Filter("number", comparator, FieldInput(.int64(Int64.random(in: -3...5, using: &random))))
        case 1:
            return Query.Filter(
                "ratio", comparator, FieldInput(.double(Double(Int.random(in: -2...2, using: &random)) / 2)))
        case 2: return Query.Filter("text", comparator, FieldInput(text(using: &random)))
        case 3:
            return Query.Filter(
                "when", comparator,
                FieldInput(.timestamp(Timestamp(milliseconds: Int64.random(in: 0...4, using: &random)))))
        case 4:
            return Query.Filter(
                "text", Bool.random(using: &random) ? .beginsWith : .notBeginsWith, FieldInput(text(using: &random)))
        case 5:
            let comparator: Records.Comparator = Bool.random(using: &random) ? .in : .notIn
            return Query.Filter(
                "number", comparator,
                FieldInput(.list([.int64(1), .int64(Int64.random(in: 2...5, using: &random))], of: .int64)))
        case 6:
            let comparator =
                [Records.Comparator.listContainsAny, .listContainsAll, .notListContainsAny, .notListContainsAll]
                .randomElement(using: &random) ?? .listContainsAny
            return Query.Filter(
                "tags", comparator, FieldInput(.list([text(using: &random), text(using: &random)], of: .string)))
        case 7:
            let comparator =
                [Records.Comparator.listContains, .notListContains, .listMemberBeginsWith, .notListMemberBeginsWith]
                .randomElement(using: &random) ?? .listContains
            return Query.Filter("tags", comparator, FieldInput(text(using: &random)))
        case 8:
            return Query.Filter(
                "place", .near, FieldInput(.location(location(using: &random))),
                distance: [10, 20_000, 5_000_000, 3e7].randomElement(using: &random))
        case 9:
            let comparator: Records.Comparator = Bool.random(using: &random) ? .containsAllTokens : .containsAnyTokens
            return Query.Filter(
                "text", comparator,
                FieldInput(.string(["apple", "APFEL pear", "tree plum", "", "名"].randomElement(using: &random) ?? "")))
        case 10:
            return Query.Filter(
                "link", Bool.random(using: &random) ? .equals : .notEquals,
                FieldInput(.reference(Reference(recordName: "a"))))
        case 11:
            return Query.Filter(
                "___recordID", comparator,
                FieldInput(
                    .reference(Reference(recordName: ["a", "é", "B", "zz"].randomElement(using: &random) ?? "a"))))
        case 12:
            return Query.Filter(
                "place", Bool.random(using: &random) ? .equals : .notEquals,
                FieldInput(.location(location(using: &random))))
        case 13:
            let places = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                FieldValue.location(location(using: &random))
            }
            return Query.Filter(
                "place", Bool.random(using: &random) ? .in : .notIn, FieldInput(.list(places, of: .location)))
        default:
            return Query.Filter(
                "modifiedTimestamp", comparator, FieldInput(.timestamp(Timestamp(milliseconds: 1_700_000_100_000))))
        }
    }

    private static func sort(using random: inout SeededRandom) -> Query.Sort {
        let ascending = Bool.random(using: &random)
        if Int.random(in: 0..<6, using: &random) == 0 {
            return Query.Sort("place", ascending: ascending, relativeLocation: location(using: &random))
        }
        return Query.Sort(
            ["number", "text", "when", "ratio", "recordName", "___modTime", "data"].randomElement(using: &random)
                ?? "number", ascending: ascending)
    }
}

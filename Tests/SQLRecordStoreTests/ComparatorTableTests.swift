import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import TestSupport
import Testing

@testable import TestStores

/// Checks every cell of the table of required indexes in docs/queries.md, with every set of indexes of the field,
/// against the rules and both engines.
@Suite struct ComparatorTableTests {
    /// A column of the table.
    private struct Kind {
        let name: String
        let key: FieldKey
        let type: FieldType
        let value: FieldValue

        var allowed: Indexes {
            if case .system(let field) = key { field.allowedIndexes } else { type.allowedIndexes }
        }
    }

    private static func kind(_ name: String) -> Kind? {
        if let field = SystemField(named: Name(name)) {
            let value: FieldValue =
                switch field.type {
                case .timestamp: .timestamp(Timestamp(milliseconds: 5))
                case .string: .string("1")
                default: .reference(Reference(recordName: "a"))
                }
            return Kind(name: name, key: .system(field), type: field.type, value: value)
        }
        guard let type = FieldType(schemaName: name) else { return nil }
        let scalar: FieldValue =
            switch type.valueType {
            case .string: .string("a")
            case .int64: .int64(1)
            case .double: .double(1)
            case .bytes: .bytes([1])
            case .timestamp: .timestamp(Timestamp(milliseconds: 1))
            case .location: .location(Location(latitude: 1, longitude: 1))
            case .reference: .reference(Reference(recordName: "a"))
            case .asset: .asset(Asset(fileChecksum: "AA", size: 1))
            }
        let value = type.isList ? .list([scalar], of: type.valueType) : scalar
        return Kind(name: name, key: .custom(Name("f")), type: type, value: value)
    }

    private enum Asked {
        case filter(Records.Comparator)
        case sort
        case sortByDistance
    }

    private struct Cell {
        let asked: Asked
        let kind: Kind
        /// Any one of these indexes suffices; `nil` if the comparator is never valid.
        let needed: Indexes?
        /// True for a sort that runs without an index and has no effect.
        let isIgnored: Bool
    }

    // MARK: The table

    private static func cells() throws -> [Cell] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/queries.md"), encoding: .utf8)
        let lines = text.split(separator: "\n").map(String.init)
        guard let head = lines.firstIndex(where: { $0.hasPrefix("| |") }) else {
            throw RecordError(.notFound, "the table")
        }
        let asked = columns(lines[head]).dropFirst().map { column in names(column).flatMap { Self.asked($0) } }
        return try lines[(head + 2)...].prefix { $0.hasPrefix("|") }.flatMap { line -> [Cell] in
            let columns = columns(line)
            guard let title = columns.first, columns.count == asked.count + 1 else {
                throw RecordError(.badRequest, line)
            }
            return try names(title).flatMap { name in
                guard let kind = kind(name) else { throw RecordError(.badRequest, name) }
                return zip(asked, columns.dropFirst()).flatMap { asked, cell in
                    asked.map { Cell(asked: $0, kind: kind, needed: needed(cell), isIgnored: cell == "ignored") }
                }
            }
        }
    }

    /// The comparators of a column. A NOT_ form belongs to the comparator that it negates.
    private static func asked(_ name: String) -> [Asked] {
        if name == "sort" { return [.sort] }
        if name == "sort by relativeLocation" { return [.sortByDistance] }
        return Records.Comparator.allCases.filter { ($0.negated ?? $0).rawValue == name }.map { .filter($0) }
    }

    private static func names(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
    }

    private static func columns(_ line: String) -> [String] {
        line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    private static func needed(_ cell: String) -> Indexes? {
        switch cell {
        case "Q": .queryable
        case "S": .sortable
        case "T": .searchable
        case "Q/S": [.queryable, .sortable]
        default: nil
        }
    }

    @Test func theTableIsWhole() throws {
        let cells = try Self.cells()
        let comparators = Set(
            cells.compactMap { if case .filter(let comparator) = $0.asked { comparator } else { nil } })
        #expect(comparators == Set(Records.Comparator.allCases))
        let kinds = Set(cells.map(\.kind.name))
        #expect(kinds.isSuperset(of: SystemField.allCases.map(\.alias.string)))
        for valueType in ValueType.allCases {
            for type in [FieldType(valueType), .list(valueType)] {
                #expect(kinds.contains(type.schemaName))
                guard type.canBeEncrypted else { continue }
                let encrypted = FieldType(valueType, isList: type.isList, isEncrypted: true)
                #expect(kinds.contains(encrypted.schemaName))
            }
        }
        #expect(cells.count == (Records.Comparator.allCases.count + 2) * kinds.count)
    }

    // MARK: Cell by cell

    @Test func everyCellIsAsTheTableSays() async throws {
        let folder = try TemporaryFolder()
        let engines: [any RecordEngine] = [InMemoryRecordEngine(), try StoreUnderTest.engine(folder: folder.url)]
        let cells = try Self.cells()
        for (number, name) in Set(cells.map(\.kind.name)).sorted().enumerated() {
            let kind = try #require(Self.kind(name))
            let types = Self.subsets(of: kind.allowed).map {
                (indexes: $0, type: Self.type("T\(number)x\($0.rawValue)", kind, $0))
            }
            var answers: [[String]] = [[], []]
            for (slot, engine) in engines.enumerated() {
                let database = try await engine.full(.private)
                _ = try await database.require(.editSchema).edit(types.map { .addType($0.type) })
                for outcome in try await database.modify(
                    ModifyRequest(types.flatMap { Self.records(of: $0.type, kind) }))
                { _ = try outcome.get() }
                for (indexes, type) in types {
                    for cell in cells where cell.kind.name == name {
                        answers[slot].append(await Self.answer(cell, type, indexes, database))
                    }
                }
            }
            #expect(answers[0] == answers[1], "\(name)")
        }
        for engine in engines { await engine.close() }
    }

    /// A record with a value and one without.
    private static func records(of type: RecordType, _ kind: Kind) -> [RecordOperation] {
        guard case .custom(let field) = kind.key, kind.type.valueType != .asset else { return [] }
        let fields = [field: FieldInput(kind.value, isEncrypted: kind.type.isEncrypted)]
        return [
            RecordOperation(.create, recordName: "\(type.name)a", recordType: type.name, fields: fields),
            RecordOperation(.create, recordName: "\(type.name)b", recordType: type.name),
        ]
    }

    /// Checks the rules against a cell.
    /// - Returns: the engine's answer.
    private static func answer(_ cell: Cell, _ type: RecordType, _ indexes: Indexes, _ database: any RecordDatabase)
        async -> String
    {
        let query = query(cell, type.name)
        let problems = IndexRules.problems(of: query, in: Schema(types: [type]))
        let runs = cell.isIgnored || cell.needed.map { !$0.isDisjoint(with: indexes) } ?? false
        #expect(problems.isEmpty == runs, "\(cell) with \(indexes.names): \(problems)")
        if cell.kind.type.isEncrypted, case .filter(let comparator) = cell.asked {
            let reason =
                "Field 'f' has a value type of \(cell.kind.type.wireName) and cannot be queried using filter type \(comparator.rawValue)"
            #expect(problems == [.invalid(RecordError(.badRequest, reason))])
        }
        if let needed = cell.needed, !runs {
            #expect(
                lacking(problems) == needed.intersection(cell.kind.allowed),
                "\(cell) with \(indexes.names): \(problems)")
        }
        return await answer(query, database, problems.first?.error)
    }

    /// The result of a query, or `refused` if it is refused according to the rules.
    private static func answer(_ query: Query, _ database: any RecordDatabase, _ expected: RecordError?) async -> String
    {
        do {
            let found = try await database.all(query).map(\.recordID.recordName.string)
            return expected == nil ? found.joined(separator: ",") : "runs, though \(expected.map { "\($0)" } ?? "")"
        } catch {
            return error as? RecordError == expected ? "refused" : "\(error)"
        }
    }

    private static func lacking(_ problems: [QueryProblem]) -> Indexes {
        problems.reduce(into: []) { indexes, problem in
            if case .missingIndex(_, let missing, _) = problem { indexes.formUnion(missing) }
        }
    }

    private static func subsets(of indexes: Indexes) -> [Indexes] {
        (0..<8).map { Indexes(rawValue: $0) }.filter { indexes.isSuperset(of: $0) }
    }

    /// A type with the field, and another index, because a type without any index cannot be queried.
    private static func type(_ name: String, _ kind: Kind, _ indexes: Indexes) -> RecordType {
        var type = RecordType(
            name: Name(name), fields: ["other": FieldDefinition(type: .string, indexes: .queryable)],
            systemIndexes: [.recordID: .queryable])
        switch kind.key {
        case .system(let field): type.systemIndexes[field] = indexes
        case .custom(let field): type.fields[field] = FieldDefinition(type: kind.type, indexes: indexes)
        }
        return type
    }

    private static func query(_ cell: Cell, _ type: Name) -> Query {
        let kind = cell.kind
        let field: Name = if case .system(let field) = kind.key { field.alias } else { kind.key.schemaName }
        // A query without filters would need an index of its own.
        let neutral = Query.Filter("other", .notEquals, FieldInput(.string("nothing")))
        switch cell.asked {
        case .sort: return Query(recordType: type, filters: [neutral], sorts: [Query.Sort(field)])
        case .sortByDistance:
            return Query(
                recordType: type, filters: [neutral],
                sorts: [Query.Sort(field, relativeLocation: Location(latitude: 0, longitude: 0))])
        case .filter(let comparator):
            let element = kind.value.elements.first ?? kind.value
            let value: FieldValue = comparator.takesList ? .list([element], of: kind.type.valueType) : element
            return Query(
                recordType: type,
                filters: [
                    Query.Filter(field, comparator, FieldInput(value), distance: comparator == .near ? 1000 : nil)
                ])
        }
    }
}

public import Records

/// The changes that importing a schema file makes to an environment.
public struct SchemaImportPlan: Sendable, Hashable {
    /// The schema after the import.
    public let target: Schema
    public let difference: SchemaDifference

    /// - Parameters:
    ///   - file: the schema in the file.
    ///   - current: the schema of the environment.
    ///   - merging: `true` to only add what the environment lacks. Otherwise the environment gets the file's schema,
    ///     as in CloudKit, and everything else is removed, except for the `Users` type with the roles that its grants
    ///     name, and composite indexes whose fields remain.
    ///   - production: the schema to which the development schema is deployed; `nil` if there is none.
    /// - Throws: `RecordError` BAD_REQUEST if a type or field that production has would be removed or changed, or if
    ///   merging and a field exists with another type. The reason lists all of them. Also throws the errors of
    ///   ``Schema/applying(_:)`` if the result is invalid.
    public init(importing file: Schema, into current: Schema, merging: Bool, production: Schema?) throws {
        target = merging ? try Self.merging(file, into: current) : Self.replacing(current, by: file)
        difference = SchemaDifference(from: current, to: target)
        respellings = SchemaRespelling.all(from: current, to: target)
        isMerging = merging
        if let production { try Self.check(difference, against: production) }
        // Reports invalid results now instead of when the plan is applied.
        _ = try current.applying(edits)
    }

    /// Fields whose type gets another spelling, such as NUMBER for DOUBLE. This changes only the exported text.
    public let respellings: [SchemaRespelling]

    /// True if the import only adds.
    private let isMerging: Bool

    /// The edits that lead to ``target``. When merging they only add, so they keep what the environment has gained in
    /// the meantime.
    public var edits: [SchemaEdit] {
        (isMerging ? difference.additions : difference.edits) + respellings.map(\.edit)
    }

    /// True if there is nothing to do.
    public var isEmpty: Bool { difference.isEmpty && respellings.isEmpty }

    /// One line per change.
    public var lines: [String] { difference.lines + respellings.map(\.line) }

    /// The data that would be lost.
    /// - Parameter database: counts the affected records, if it can.
    public func losses(measuredBy database: any RecordDatabase) async throws -> [SchemaLoss] {
        try await SchemaLoss.losses(of: difference.losses, measuredBy: database)
    }

    // MARK: Targets

    private static func replacing(_ current: Schema, by file: Schema) -> Schema {
        var target = file
        if let users = current.types[Schema.usersType] {
            var type = target.types[Schema.usersType] ?? users
            type.fields.merge(Schema.users.fields) { declared, _ in declared }
            target.types[Schema.usersType] = type
            target.roles.formUnion(type.grants.map(\.role).filter(current.roles.contains))
        }
        for (name, type) in target.types {
            guard let old = current.types[name] else {
                target.types[name]?.compositeIndexes = []
                continue
            }
            target.types[name]?.compositeIndexes = old.compositeIndexes.filter { index in
                [index.filter, index.sort].allSatisfy { key in
                    guard let before = old.definition(of: key), let after = type.definition(of: key) else {
                        return false
                    }
                    return before.type.holdsSameValues(as: after.type)
                }
            }
        }
        return target
    }

    private static func merging(_ file: Schema, into current: Schema) throws -> Schema {
        var target = current
        var conflicts: [String] = []
        target.roles.formUnion(file.roles)
        for type in file.sortedTypes {
            guard var merged = current.types[type.name] else {
                target.types[type.name] = type
                target.types[type.name]?.compositeIndexes = []
                continue
            }
            for (name, definition) in type.fields.sorted(by: { $0.key < $1.key }) {
                guard let existing = merged.fields[name] else {
                    merged.fields[name] = definition
                    continue
                }
                if existing.type.holdsSameValues(as: definition.type) {
                    merged.fields[name]?.indexes.formUnion(definition.indexes)
                } else {
                    conflicts.append(
                        "field '\(name)' of type '\(type.name)' is \(existing.type.schemaName), and \(definition.type.schemaName) in the file"
                    )
                }
            }
            for (field, indexes) in type.systemIndexes { merged.systemIndexes[field, default: []].formUnion(indexes) }
            merged.grants = Self.merging(type.grants, into: merged.grants)
            target.types[type.name] = merged
        }
        guard conflicts.isEmpty else {
            throw RecordError(.badRequest, "The file can't be merged: \(conflicts.joined(separator: "; "))")
        }
        return target
    }

    /// Merges grants. Default grants in a file may be implicit, so they don't override customized ones.
    private static func merging(_ grants: [Grant], into existing: [Grant]) -> [Grant] {
        if Grant.canonical(grants) == Grant.defaults { return existing }
        let merged = Grant.canonical(existing + grants)
        return merged == Grant.canonical(existing) ? existing : merged
    }

    // MARK: Production

    private static func check(_ difference: SchemaDifference, against production: Schema) throws {
        let reasons = difference.changes.compactMap { change -> String? in
            guard let deployed = change.recordType.flatMap({ production.types[$0] }) else { return nil }
            switch change {
            case .removeType(let type): return "type '\(type.name)' would be deleted"
            case .removeField(let key, _, _):
                return deployed.definition(of: key) == nil
                    ? nil : "field '\(key.schemaName)' of type '\(deployed.name)' would be deleted"
            case .changeField(let key, _, let definition, _), .addField(let key, let definition, _):
                return otherwise(key, definition, than: deployed)
            case .addType(let type):
                let reasons = type.fields.sorted { $0.key < $1.key }.compactMap {
                    otherwise(.custom($0.key), $0.value, than: deployed)
                }
                return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
            case .addRole, .removeRole, .setIndexes, .setGrants: return nil
            }
        }
        guard reasons.isEmpty else {
            throw RecordError(
                .badRequest,
                "The file can't be imported, because production never loses or changes types and fields: \(reasons.joined(separator: "; ")). "
                    + "Correct the file first")
        }
    }
    /// Describes a field that production has with another type; `nil` if there is no conflict.
    private static func otherwise(_ key: FieldKey, _ definition: FieldDefinition, than deployed: RecordType) -> String?
    {
        guard let type = deployed.definition(of: key)?.type, !type.holdsSameValues(as: definition.type) else {
            return nil
        }
        return
            "field '\(key.schemaName)' of type '\(deployed.name)' is \(type.schemaName) there, and \(definition.type.schemaName) in the file"
    }
}

// MARK: - Size of a text

extension SchemaText {
    /// Maximum size in bytes of schema text that a server parses. Schemas of hundreds of types are less than a tenth
    /// of it.
    public static let serverLimit = 2 << 20

    /// - Throws: `RecordError` BAD_REQUEST if the text is longer than ``serverLimit``. Carriage returns, which forms
    ///   add, don't count.
    public static func checkSize(of text: String) throws {
        let size = text.utf8.count
        guard size > serverLimit, size - text.utf8.count(where: { $0 == UInt8(ascii: "\r") }) > serverLimit else {
            return
        }
        throw RecordError(
            .badRequest, "The limit of a schema's text is \(serverLimit >> 20) MiB here, and this one has \(size) bytes"
        )
    }
}

// MARK: - Deployment

/// The changes that deploying a development schema makes to production.
///
/// Types and fields of production are only added. Roles and grants are added or changed, and roles missing in
/// development stay. Indexes are added and dropped. Each environment has its own composite indexes.
public struct SchemaDeploymentPlan: Sendable, Hashable {
    /// The changes from the present to the future production schema; with ``obstacles``, to the development schema.
    public let difference: SchemaDifference

    public init(from development: Schema, to production: Schema) {
        difference = SchemaDifference(
            SchemaDifference(from: production, to: development).changes.filter { change in
                if case .removeRole = change { false } else { true }
            })
        respellings = SchemaRespelling.all(from: production, to: development)
    }

    /// Number fields that get development's spelling, so that both environments export the same.
    public let respellings: [SchemaRespelling]

    /// Types and fields that development lacks or has with another type.
    public var obstacles: [SchemaDifference.Change] { difference.losses }

    /// Fields whose indexes would be dropped. Clients in use may need them.
    public var indexLosses: [SchemaDifference.Change] { difference.changes.filter { !$0.droppedIndexes.isEmpty } }

    public var canRun: Bool { obstacles.isEmpty }

    public var isEmpty: Bool { difference.isEmpty && respellings.isEmpty }

    /// One line per change.
    public var lines: [String] { difference.lines + respellings.map(\.line) }

    /// The edits to deploy; empty if there are ``obstacles``.
    public var edits: [SchemaEdit] { canRun ? difference.edits + respellings.map(\.edit) : [] }

    /// The error if nothing can be deployed: BAD_REQUEST with the obstacles.
    public var refusal: RecordError? {
        guard !canRun else { return nil }
        let reasons = obstacles.map { change in
            switch change {
            case .removeType(let type): "type '\(type.name)' is not in development"
            case .removeField(let key, let definition, let type):
                "field '\(key.schemaName)' \(definition.type.schemaName) of type '\(type)' is not in development"
            case .changeField(let key, let before, let after, let type):
                "field '\(key.schemaName)' of type '\(type)' is \(before.type.schemaName), and \(after.type.schemaName) in development"
            case .addRole, .removeRole, .addType, .addField, .setIndexes, .setGrants: change.line
            }
        }
        return RecordError(
            .badRequest,
            "The schema can't be deployed, because production never loses or changes types and fields: \(reasons.joined(separator: "; ")). Correct development first"
        )
    }
}

internal import AssetStore
package import Console
internal import RecordStore
internal import Records

/// The page Objects: the entities of Core Data that a database has.
package enum ObjectsView {
    package static func load(_ asked: Visit) async throws -> ComponentPage {
        let visit = try await asked.findingEntityTypes()
        let entities = try await ObjectModel.entities(visit, isWhole: true)
        let links = try await ObjectModel.manyToMany(visit)
        let pairs = links.isEmpty ? nil : await visit.recordCounts()?[MirroredLink.recordType]
        let place = visit.place
        let zone =
            place.zoneID.map { "zone \(visit.zoneName($0))" }
            ?? (place.address.scope == .public ? "the public database" : "all zones")
        let known =
            visit.connection != nil
            ? "None is among the types of the records that came from iCloud so far." : "None is known here."
        let table = Table(
            "Entities",
            ["entity", .number("objects"), .column("attributes", "wide"), "to-one relationships", "record type"],
            entities.map { row($0, visit) },
            nothing: EmptyState(
                "No objects", "Core Data’s records have types that begin with `CD_`. \(known)"))
        return ComponentPage(
            .objects,
            PageHead(
                Tab.objects.title,
                [
                    "The objects that Core Data (NSPersistentCloudKitContainer) keeps in \(zone), without its prefixes. Core Data’s model is in the app: the names are those of fields, and sub-entities and relationships are found in \(ObjectModel.sample(visit))."
                ]), [table] + (links.isEmpty ? [] : [manyToMany(links, count: pairs, place)]),
            foot: PageFooter(count: Digits.count(entities.count, "entity", plural: "entities")))
    }

    private static func row(_ entity: ObjectEntity, _ visit: Visit) -> Table.Row {
        let place = visit.place
        let type = entity.type.name.string
        let objects = QueryForm(objectsOf: entity.name, in: entity.type, visit.titles).parameters
        let toOne = entity.toOne.map { relationship -> Inline in
            "\(relationship.name) \(.faint(Inline("→ " + relationship.destinations.joined(separator: " "))))"
        }
        let problem = entity.problem.map { [Inline.faint("not read: \($0)")] } ?? []
        return Table.Row([
            .link(entity.name, place.link("objects/entity", objects)),
            Inline(entity.count.map { Digits.grouped($0) } ?? "–"), Inline(entity.attributes.joined(separator: ", ")),
            .lines(toOne + problem), .link(type, place.link("type", [("type", type)]), style: "mono"),
        ])
    }

    private static func manyToMany(_ links: [MirroredLink], count: Int?, _ place: Place) -> Section {
        let records = place.link("query", [("type", MirroredLink.recordType.string)])
        return Section(
            "many-to-many", "Many-to-many relationships",
            [
                Table(
                    "Relationships and those back", style: .narrow,
                    ["entity", "relationship", "entity", "relationship back"],
                    links.map { link in
                        Table.Row([
                            Inline(link.first.entityName ?? "?"), Inline(link.first.relationship),
                            Inline(link.second.entityName ?? "?"), Inline(link.second.relationship),
                        ])
                    }),
                Paragraph(
                    "Each pair of objects is a record of its own: \(.link(count.map { Digits.count($0, "pair") } ?? "the pairs", records))."
                ),
            ])
    }
}

// MARK: - One entity

/// The objects of one entity in a table, page by page. Its address is that of a query, so that it has the query's
/// filters, sorts and index rules.
package struct EntityView: Page {
    package static let template = "objects_entity"
    package static let tab = Tab.objects

    package let title: String
    let entity: String
    /// The condition of a relationship, such as `whose journal is J1`.
    let condition: String?
    /// The object that the relationship leads to.
    let target: String?
    let entities: String
    /// The same records on the page Query.
    let records: String
    let table: ObjectTable?
    let refusal: QueryRefusal?
    let complaint: PageError?
    let isEmpty: Bool
    let count: String
    let pageNumber: String?
    let first: String?
    let previous: String?
    let next: String?

    package static func load(_ visit: Visit) async throws -> EntityView {
        let form = QueryForm(visit.fields)
        guard let typeName = form.type, MirroredNaming.isEntityType(typeName) else {
            throw RecordError(
                .badRequest, "The address of a table of objects needs a record type of Core Data, such as type=CD_Entry"
            )
        }
        let known = visit.schema?.types[typeName]
        let type = known ?? RecordType(name: typeName)
        let plan = CheckedQuery(form, of: type)
        if let problem = plan.firstProblem { throw RecordError(.badRequest, problem) }
        func link(_ form: QueryForm) -> String { visit.place.link("objects/entity", form.parameters) }
        let entity = form.entity ?? MirroredNaming.rootEntity(of: typeName) ?? typeName.string
        let target = visit.place.zoneID.flatMap { zoneID in
            ObjectTargets.mayBeRecordName(form.condition.map { .string($0.value) }).map {
                visit.place.link(toObject: RecordID(recordName: $0, zoneID: zoneID))
            }
        }
        func view(
            _ answer: QueryPage? = nil, table: ObjectTable? = nil, refusal: QueryRefusal? = nil,
            complaint: PageError? = nil
        ) -> EntityView {
            EntityView(
                title: "Objects · \(entity)", entity: entity,
                condition: form.condition.map { "whose \($0.property) is \($0.value)" }, target: target,
                entities: visit.place.link("objects"), records: visit.place.link("query", form.parameters),
                table: table, refusal: refusal,
                complaint: complaint, isEmpty: answer?.records.isEmpty ?? false,
                count: answer.map { Digits.count($0.records.count, "object") } ?? "Not run",
                pageNumber: form.page > 1 || answer?.continuationMarker != nil
                    ? "page \(Digits.grouped(form.page))" : nil,
                first: form.page > 2 ? link(form.changed { _ in }) : nil, previous: form.previousPage.map(link),
                next: answer?.continuationMarker.map { link(form.nextPage($0)) })
        }
        let works = try await visit.indexWorks()
        let problems = visit.schema.map { IndexRules.problems(of: plan.query, in: $0, building: works.builds) } ?? []
        if !problems.isEmpty {
            return view(
                refusal: QueryRefusal(
                    problems, plan: plan, form: form, type: known, works: works, back: link(form),
                    answers: "objects/entity", visit: visit))
        }
        do {
            let request = QueryRequest(
                plan.query, in: visit.queryArea, limit: PageLimit(records: form.limit),
                continuationMarker: form.markers.last)
            let answer = try await visit.measure { try await visit.database.query(request) }
            if answer.records.isEmpty { return view(answer) }
            return view(
                answer,
                table: try await ObjectTable(
                    answer.records, of: type, caption: "Objects of \(entity)", form: form, visit: visit, page: link))
        } catch let error as RecordError {
            return view(complaint: PageError(error))
        }
    }
}

extension QueryForm {
    /// The entity that a filter names.
    fileprivate var entity: String? {
        filters.first { $0.field == MirroredNaming.entityField && $0.comparator == .equals && !$0.isUnfinished }.map {
            FilterValueReader.alone($0.value, of: nil)
        }
    }

    /// The property that another filter names, and its value.
    fileprivate var condition: (property: String, value: String)? {
        for filter in filters where filter.comparator == .equals && !filter.isUnfinished {
            if let property = MirroredNaming.property(of: filter.field) {
                return (property, FilterValueReader.alone(filter.value, of: nil))
            }
        }
        return nil
    }
}

// MARK: - Table

/// Objects of one entity in a table: a column for each attribute and to-one relationship.
struct ObjectTable: ViewModel {
    struct Row: ViewModel {
        let href: String
        /// The text that tells the object from others, or else its record name.
        let label: String
        let cells: [TableValue]

        func child(named name: String) -> Any? {
            switch name {
            case "href": href
            case "label": label
            case "cells": cells
            default: nil
            }
        }
    }

    let caption: String
    let columns: [TableColumn]
    let rows: [Row]
    /// The link that shows all columns, if some are missing.
    let allColumns: Frame.Link?

    /// - Parameter page: the address of the table with another form.
    init(
        _ records: [StoredRecord], of type: RecordType, caption: String, form: QueryForm, visit: Visit,
        page: (QueryForm) -> String
    ) async throws {
        self.caption = caption
        let values = try records.map { record in
            Dictionary(try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
        // The first field with a label is the first column, which leads to the object.
        let titles = visit.titles
        let label = titles.fields(of: type.name).first { name in
            MirroredNaming.property(of: name) != nil && type.fields[name] != nil
        }
        let first = label.flatMap { MirroredNaming.property(of: $0) }
        var names: [String] = []
        for field in QueryField.all(of: type) where !field.isSystem {
            if let property = MirroredNaming.property(of: field.name), property != first, !names.contains(property) {
                names.append(property)
            }
        }
        if names.count > ResultTable.emptyColumnLimit {
            let used = Set(values.flatMap(\.keys).compactMap { MirroredNaming.property(of: $0) })
            names = names.filter(used.contains)
        }
        let count = names.count
        if !form.showsAllColumns, count > ResultTable.columnLimit {
            let asked = Set(
                (form.filters.map(\.field) + form.sorts.map(\.field)).compactMap { MirroredNaming.property(of: $0) })
            let kept = asked.union(
                names.filter { !asked.contains($0) }.prefix(max(0, ResultTable.columnLimit - asked.count)))
            names = names.filter(kept.contains)
        }
        allColumns =
            names.count == count
            ? nil : Frame.Link(text: "Show all \(Digits.grouped(count)) columns", href: page(form.withAllColumns))
        func column(_ property: String) -> TableColumn {
            if let field = type.queryField(named: MirroredNaming.field(of: property)) {
                return TableColumn(field, named: property, of: type, form: form, visit: visit, page: page)
            }
            var column = TableColumn(property)
            column.type = "ASSET"
            return column
        }
        columns = [first.map(column) ?? TableColumn("record name")] + names.map(column) + [TableColumn("modified")]
        let headings = columns.map(\.name)
        let links = try await visit.links(toAssetsOf: records)
        let leading = zip(records, values).flatMap { record, values in
            names.compactMap { ObjectTargets.mayBeRecordName(values[MirroredNaming.field(of: $0)]) }
                .map { RecordID(recordName: $0, zoneID: record.recordID.zoneID) }
        }
        let targets = try await ObjectTargets(leading, visit)
        rows = try zip(records, values).map { record, values in
            let presenter = ValuePresenter(place: visit.place, zoneID: record.recordID.zoneID, links: links)
            let cells = names.map { property -> ValueView in
                let field = MirroredNaming.valueField(of: property, in: values) { $0 }
                if let name = ObjectTargets.mayBeRecordName(values[field]),
                    let link = targets.link(to: RecordID(recordName: name, zoneID: record.recordID.zoneID), visit.place)
                {
                    return ValueView(.link(link.text, href: link.href, hint: name.string))
                }
                return presenter.view(values[field], of: field)
            }
            return Row(
                href: visit.place.link(toObject: record.recordID),
                label: try titles.title(of: record) ?? record.recordID.recordName.string,
                cells: TableValue.row(cells + [ValueView(.time(record.modified.timestamp))], headings))
        }
    }
}

internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Marks a record that comes before a record it depends on. Clients must handle this order.
///
/// The feed holds each record once, at its latest change. If a parent is saved again later, it therefore comes after its child.
struct OrderMark: ViewModel {
    let text: String
    /// The target's line on the same page, or else the target's page.
    let href: String
    let explanation: String

    /// The maximum number of targets to look up beyond the page.
    private static let lookupLimit = 200

    private struct Dependency {
        let index: Int
        let target: Name
        /// `parent`, or the name of the field.
        let role: String
    }

    /// The marks of a page's changes, by index.
    static func marks(_ changes: [RecordChange], fields: [[Field]], visit: Visit) async throws -> [Int: [OrderMark]] {
        guard let zoneID = visit.place.zoneID else { return [:] }
        let dependencies = zip(changes.indices, changes).flatMap { index, change in
            Self.dependencies(change, fields[index], index: index, zoneID: zoneID, place: visit.place)
        }
        let places = Dictionary(zip(changes.map(\.recordID.recordName), changes.indices), uniquingKeysWith: { _, last in last })
        let elsewhere = Set(dependencies.map(\.target)).filter { places[$0] == nil }.sorted().prefix(lookupLimit)
        let positions = try await Self.positions(of: Array(elsewhere), in: zoneID, visit: visit)
        var marks: [Int: [OrderMark]] = [:]
        for dependency in dependencies {
            let change = changes[dependency.index]
            if let place = places[dependency.target] {
                guard place > dependency.index else { continue }
                marks[dependency.index, default: []].append(OrderMark(dependency, target: changes[place], at: place))
            } else if let later = positions[dependency.target], let position = change.position, later > position {
                marks[dependency.index, default: []].append(
                    OrderMark(dependency, at: later, href: visit.place.link(toRecord: dependency.target, in: zoneID)))
            }
        }
        return marks
    }

    private static func dependencies(_ change: RecordChange, _ fields: [Field], index: Int, zoneID: ZoneID, place: Place) -> [Dependency] {
        guard change.kind != .deleted, let record = change.record else { return [] }
        var dependencies: [Dependency] = []
        var seen: Set<Name> = [change.recordID.recordName]
        if let parent = record.parent, seen.insert(parent).inserted {
            dependencies.append(Dependency(index: index, target: parent, role: "parent"))
        }
        for field in fields {
            for case .reference(let reference) in field.value.elements where reference.zoneID.map({ place.isSame($0, zoneID) }) ?? true {
                guard seen.insert(reference.recordName).inserted else { continue }
                dependencies.append(Dependency(index: index, target: reference.recordName, role: "\(field.name)"))
            }
        }
        return dependencies
    }

    /// The position of each target that is not on the page. The times of records don't tell: restored and mirrored ones keep old times.
    private static func positions(of names: [Name], in zoneID: ZoneID, visit: Visit) async throws -> [Name: Int64] {
        guard visit.database.can(.positionRecords) else { return [:] }
        var positions: [Name: Int64] = [:]
        for name in names { positions[name] = try await visit.measure { try await visit.database.position(of: RecordID(recordName: name, zoneID: zoneID)) }?.latest }
        return positions
    }

    private init(_ dependency: Dependency, target: RecordChange, at index: Int) {
        href = "#" + target.anchor(at: index)
        text = "\(dependency.role) comes later"
        let place = target.position.map { ", at position \(Digits.grouped($0))" } ?? ""
        explanation =
            target.kind == .deleted
            ? "\(dependency.target), its \(dependency.role), is deleted later in this list\(place)"
            : "\(dependency.target), its \(dependency.role), was saved again later\(place)"
    }

    private init(_ dependency: Dependency, at position: Int64, href: String) {
        self.href = href
        text = "\(dependency.role) comes later"
        explanation = "\(dependency.target), its \(dependency.role), was saved again later, at position \(Digits.grouped(position)), further down the feed"
    }
}

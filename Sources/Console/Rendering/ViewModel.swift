internal import Mustache

/// What a template shows. The names in the template are the names of stored properties.
///
/// A property without a value ends the search, so that a name never falls through to a property of the same name further out.
/// Types that fill tables answer ``MustacheParent/child(named:)`` themselves: reflection is slow where it is asked thousands of times.
protocol ViewModel: MustacheParent, Sendable {}

extension ViewModel {
    func child(named name: String) -> Any? {
        guard let property = Mirror(reflecting: self).children.first(where: { $0.label == name }) else { return nil }
        return Absent.unless(property.value)
    }
}

/// Stands for a property without a value: as a section it is false, as text it is empty.
struct Absent: MustacheCustomRenderable {
    var renderText: String { "" }
    var isNull: Bool { true }

    /// What an optional holds, or an absence.
    static func unless(_ value: Any) -> Any {
        guard let optional = value as? any OptionalValue else { return value }
        return optional.wrapped ?? Absent()
    }
}

private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    var wrapped: Any? { self }
}

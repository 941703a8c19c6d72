package import Mustache

/// The data of a template. Names in the template refer to stored properties.
///
/// A property without a value ends the lookup, so that a name never resolves to a property of an outer context.
/// Types that fill tables implement ``MustacheParent/child(named:)`` themselves, because reflection is slow for thousands of lookups.
package protocol ViewModel: MustacheParent, Sendable {}

extension ViewModel {
    package func child(named name: String) -> Any? {
        guard let property = Mirror(reflecting: self).children.first(where: { $0.label == name }) else { return nil }
        return Absent.unless(property.value)
    }
}

/// A property without a value: false as a section, empty as text.
package struct Absent: MustacheCustomRenderable {
    package var renderText: String { "" }
    package var isNull: Bool { true }

    package init() {}

    /// The wrapped value of an optional, or ``Absent``.
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

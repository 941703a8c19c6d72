/// An option of a selection.
package struct Choice: ViewModel {
    package let value: String
    package let text: String
    package let isSelected: Bool
    let isDisabled: Bool

    package init(_ value: String, _ text: String, isSelected: Bool, isDisabled: Bool = false) {
        self.value = value
        self.text = text
        self.isSelected = isSelected
        self.isDisabled = isDisabled
    }

    package func child(named name: String) -> Any? {
        switch name {
        case "value": value
        case "text": text
        case "isSelected": isSelected
        case "isDisabled": isDisabled
        default: nil
        }
    }
}
